import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { differences, parseSet, withValue } from '#cli/json-patch.ts';
import { withMember } from '#cli/json-splice.ts';

describe('one member of a text', () => {
  test.each([
    ['{"a":1,"data":{"x":[1,2]},"b":2}', '{"a":1,"data":7,"b":2}'],
    ['{ "data" : "a,b}\\"" , "b" : 1.0 }', '{ "data":7 , "b" : 1.0 }'],
    ['{"b":{"data":1},"data":null}', '{"b":{"data":1},"data":7}'],
    ['{"dataref":"s3://b/k#1"}', '{"data":7}'],
    ['{"d\\u0061ta":1,"ä":"\\u00e4"}', '{"data":7,"ä":"\\u00e4"}'],
    ['{"a":[{"data":1},"}"],"data":[[]]}', '{"a":[{"data":1},"}"],"data":7}'],
  ])('%s', (text, expected) => {
    expect(withMember(text, ['data', 'dataref'], 'data', '7')).toBe(expected);
  });

  test.each(['{}', '{"x":{"data":1}}', '{"data":1,"data":2}', '{"data":1,"dataref":"r"}', '[]'])(
    'none, or more than one, of %s: nothing is changed',
    (text) => {
      expect(withMember(text, ['data', 'dataref'], 'data', '7')).toBeUndefined();
    },
  );

  test('of any object: that member is other, all else is the same text', () =>
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.jsonValue(),
        fc.jsonValue(),
        fc.constantFrom(undefined, 1, '\t'),
        (others, old, value, indent) => {
          const before = { ...others, data: old };
          const changed = withMember(
            JSON.stringify(before, null, indent),
            ['data'],
            'data',
            JSON.stringify(value),
          );
          expect(JSON.parse(changed ?? '')).toEqual(JSON.parse(JSON.stringify({ ...before, data: value })));
          const back = withMember(changed ?? '', ['data'], 'data', '0');
          expect(back).toBe(withMember(JSON.stringify(before, null, indent), ['data'], 'data', '0'));
        },
      ),
    ));
});

describe('--set', () => {
  test.each([
    ['/a=1', '/a', 1],
    ['/a/0/b="x"', '/a/0/b', 'x'],
    ['/a=plain text', '/a', 'plain text'],
    ['/a=', '/a', ''],
    ['/a={"b":"c=d"}', '/a', { b: 'c=d' }],
  ])('%s', (given, pointer, value) => {
    expect(parseSet(given)).toEqual({ pointer, value });
  });

  test.each(['a=1', '/a', '', '=1'])('%j is wrong use', (given) => {
    expect(() => parseSet(given)).toThrow('--set takes a JSON Pointer and a value');
  });

  test('a value that would not stay what it is', () => {
    expect(() => parseSet('/a=12345678901234567890')).toThrow('cannot be kept as it is');
  });
});

describe('one place of a value', () => {
  const value = { a: [1, { b: 'x' }], 'c/d': { '~': 0 }, n: null };
  test.each([
    ['/a/0', { ...value, a: [9, { b: 'x' }] }],
    ['/a/1/b', { ...value, a: [1, { b: 9 }] }],
    ['/a/1/new', { ...value, a: [1, { b: 'x', new: 9 }] }],
    ['/a/-', { ...value, a: [1, { b: 'x' }, 9] }],
    ['/c~1d/~0', { ...value, 'c/d': { '~': 9 } }],
    ['/n', { ...value, n: 9 }],
    ['/new', { ...value, new: 9 }],
    ['/', { ...value, '': 9 }],
  ])('%s', (pointer, expected) => {
    const before = structuredClone(value);
    expect(withValue(value, pointer, 9)).toEqual(expected);
    expect(value).toEqual(before);
  });

  test.each([
    '/a/2',
    '/a/x',
    '/a/01',
    '/a/-/b',
    '/a/0/b',
    '/n/b',
    '/new/b',
    '/__proto__/x',
    '/constructor',
    '/toString/x',
  ])('%s is no place', (pointer) => {
    expect(withValue(value, pointer, 9)).toBeUndefined();
  });
});

describe('what differs', () => {
  test('the deepest places, with both sides', () => {
    expect(
      differences({ a: [1, { b: 2 }], c: 1, gone: null }, { a: [1, { b: '2' }, 3], c: 1, 'n/w': {} }),
    ).toEqual([
      { pointer: '/a/1/b', before: '2', after: '"2"' },
      { pointer: '/a/2', after: '3' },
      { pointer: '/gone', before: 'null' },
      { pointer: '/n~1w', after: '{}' },
    ]);
    expect(differences([1], { 0: 1 })).toEqual([{ pointer: '', before: '[1]', after: '{"0":1}' }]);
    expect(differences({ a: 1 }, { a: 1 })).toEqual([]);
  });
});
