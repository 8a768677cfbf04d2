import { describe, expect, test } from 'vitest';
import {
  absent,
  addToSet,
  all,
  any,
  copyOf,
  gone,
  type Item,
  ifMissing,
  missing,
  oneOf,
  plus,
  present,
  sameAs,
  to,
  where,
} from '#core/store.ts';
import { applied, holds, stored, storedItem, textOrder } from '#core/store-rules.ts';

const key = { PK: 'RUN#1', SK: 'RUN' };

describe('stored', () => {
  test('drops undefined members and empty sets at any depth and keeps all else', () => {
    const value = {
      a: undefined,
      b: new Set<string>(),
      c: [new Set<string>(), { d: undefined, e: 0 }],
      f: new Set(['x']),
      g: '',
      h: false,
    };
    expect(stored(value)).toStrictEqual({ c: [{ e: 0 }], f: new Set(['x']), g: '', h: false });
    expect(stored(undefined)).toBeUndefined();
    expect(stored(new Set<string>())).toBeUndefined();
  });

  test('copies: a change of the original does not reach the copy', () => {
    const original = { ...key, tags: new Set(['a']), list: [{ n: 1 }] };
    const copy = storedItem(original);
    original.tags.add('b');
    original.list.push({ n: 2 });
    expect(copy).toStrictEqual({ ...key, tags: new Set(['a']), list: [{ n: 1 }] });
  });
});

test.each([
  ['', '', 0],
  ['a', 'a', 0],
  ['a', 'b', -1],
  ['b', 'a', 1],
  ['a', 'ab', -1],
  ['ab', 'a', 1],
  ['Z', 'a', -1],
  // U+1F600 is two UTF-16 units that both sort below U+FF5E, but its UTF-8 bytes sort above.
  ['～', '😀', -1],
  ['😀', '～', 1],
])('textOrder(%o, %o) has the sign of %d, as the UTF-8 bytes have', (left, right, sign) => {
  expect(Math.sign(textOrder(left, right))).toBe(sign);
  expect(Math.sign(Buffer.compare(Buffer.from(left), Buffer.from(right)))).toBe(sign);
});

describe('holds', () => {
  const item: Item = {
    ...key,
    n: 5,
    text: 'b',
    yes: true,
    tags: new Set(['x', 'y']),
    same: new Set(['y', 'x']),
    fewer: new Set(['x']),
    others: new Set(['x', 'z']),
    list: ['p', new Set(['q'])],
    twin: ['p', new Set(['q'])],
    longer: ['p', new Set(['q']), 'r'],
    map: { a: 1, b: 'c' },
    alike: { b: 'c', a: 1 },
    wider: { a: 1, b: 'c', d: true },
    apart: { a: 1, e: 'c' },
    // Own members only: an attribute may be named like something that objects inherit.
    constructor: 'c',
  };

  test.each([
    [where('n', '=', 5), true],
    [where('n', '=', '5'), false],
    [where('n', '<>', '5'), true],
    [where('n', '<>', 5), false],
    [where('n', '<', 6), true],
    [where('n', '<', 5), false],
    [where('n', '<=', 5), true],
    [where('n', '<=', 4), false],
    [where('n', '>', 4), true],
    [where('n', '>', 5), false],
    [where('n', '>=', 5), true],
    [where('n', '>=', 6), false],
    [where('text', '<', 'c'), true],
    [where('text', '>', 5), false],
    [where('n', '<', 'c'), false],
    [where('yes', '<', true), false],
    [where('toString', '<>', 'x'), true],
    [present('toString'), false],
    [where('constructor', '=', 'c'), true],
    [sameAs('tags', '=', 'same'), true],
    [sameAs('tags', '=', 'fewer'), false],
    [sameAs('tags', '=', 'others'), false],
    [sameAs('tags', '=', 'list'), false],
    [sameAs('list', '=', 'tags'), false],
    [sameAs('list', '=', 'twin'), true],
    [sameAs('list', '=', 'longer'), false],
    [sameAs('list', '=', 'map'), false],
    [sameAs('map', '=', 'list'), false],
    [sameAs('map', '=', 'alike'), true],
    [sameAs('map', '=', 'wider'), false],
    [sameAs('map', '=', 'apart'), false],
    [sameAs('map', '=', 'n'), false],
    [sameAs('map', '<>', 'wider'), true],
    [sameAs('tags', '<', 'same'), false],
    [oneOf('text', ['a', 'b']), true],
    [oneOf('text', ['a']), false],
    [oneOf('n', ['5']), false],
    [{ attr: 'tags', includes: 'x' }, true],
    [{ attr: 'tags', includes: 'z' }, false],
    [{ attr: 'list', includes: 'p' }, true],
    [{ attr: 'text', includes: 'b' }, true],
    [{ attr: 'map', includes: 'a' }, false],
    [{ attr: 'n', includes: '5' }, false],
    [{ attr: 'yes', includes: 't' }, false],
    [{ attr: 'none', includes: 'x' }, false],
    [all(present('n'), missing('none')), true],
    [all(present('n'), present('none')), false],
    [any(present('none'), where('n', '=', 5)), true],
    [any(present('none'), missing('n')), false],
    [all(), true],
    [any(), false],
    [absent, false],
  ])('%j of the item is %s', (condition, expected) => {
    expect(holds(condition, item)).toBe(expected);
  });

  test.each([
    [absent, true],
    [present('PK'), false],
    [where('n', '<>', 1), true],
    [where('n', '=', 1), false],
    [where('n', '>=', 0), false],
    [sameAs('n', '=', 'm'), false],
    [sameAs('n', '<>', 'm'), true],
  ])('%j of no item is %s', (condition, expected) => {
    expect(holds(condition, undefined)).toBe(expected);
  });
});

describe('applied', () => {
  test('makes an item of its key and what the changes give', () => {
    const changes = { a: to(1), b: ifMissing('x'), c: plus(2), d: addToSet('t'), e: gone, f: addToSet() };
    expect(applied({ key, when: absent, changes }, undefined)).toStrictEqual({
      ...key,
      a: 1,
      b: 'x',
      c: 2,
      d: new Set(['t']),
    });
  });

  test('keeps what it does not name, and reads every attribute as it was', () => {
    const item = { ...key, a: 1, b: 2, kept: 'k', tags: new Set(['t']), old: 'o' };
    const changes = {
      a: copyOf('b'),
      b: copyOf('a'),
      tags: addToSet('t', 'u'),
      old: gone,
      kept: ifMissing('no'),
    };
    expect(applied({ key, when: all(), changes }, item)).toStrictEqual({
      ...key,
      a: 2,
      b: 1,
      kept: 'k',
      tags: new Set(['t', 'u']),
    });
    expect(item).toStrictEqual({ ...key, a: 1, b: 2, kept: 'k', tags: new Set(['t']), old: 'o' });
  });

  test('a set written empty is gone; nothing added to a set is no change', () => {
    const item = { ...key, tags: new Set(['t']), text: 'x' };
    const changes = { tags: to(new Set<string>()), text: addToSet() };
    expect(applied({ key, when: all(), changes }, item)).toStrictEqual({ ...key, text: 'x' });
  });

  test.each([
    ['a copy of nothing', { a: copyOf('none') }, '"a" cannot copy "none": the item has none'],
    ['a sum with text', { text: plus(1) }, 'cannot add to "text": what is stored is no number'],
    ['a member for text', { text: addToSet('x') }, 'cannot add to "text": what is stored is no set'],
    ['another key', { SK: to('x') }, '"SK" of RUN#1 cannot change: put another item instead'],
  ])('%s is a mistake of the caller', (_what, changes, message) => {
    expect(() => applied({ key, when: all(), changes }, { ...key, text: 'x' })).toThrow(
      expect.objectContaining({ code: 'store_misuse', message }),
    );
  });
});
