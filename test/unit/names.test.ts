import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ENV } from '#core/env-names.ts';
import { ContractError } from '#core/errors.ts';
import {
  assertCommandType,
  assertEventType,
  assertStepKey,
  assertWorkflowName,
  schemaUri,
} from '#core/names.ts';

const accepts = (check: (name: string) => void, name: string): boolean => {
  try {
    check(name);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(ContractError);
    // The message repeats the wrong value and shows what is allowed.
    expect((error as Error).message).toContain(`"${name}"`);
    return false;
  }
};

describe('command and event types', () => {
  test.each([
    'inventory.stock.reserve',
    'payment.card.charge',
    'a.b.c',
    'a-1.b-2.c-3',
    'media.frame.embed',
    'animal.herd.feed',
    'job.batch.run',
    'mail.list.read',
    `${'a'.repeat(58)}.${'b'.repeat(58)}.go`,
  ])('"%s" is a command', (type) => {
    expect(() => assertCommandType(type)).not.toThrow();
  });

  test.each([
    'inventory.stock.reserved',
    'payment.card.charged',
    'order.parcel.sent',
    'job.batch.run',
    'mail.list.read',
    'edow.run.held',
  ])('"%s" is an event', (type) => {
    expect(() => assertEventType(type)).not.toThrow();
  });

  test.each([
    ['inventory.stock.reserved', 'ends in the past tense "reserved"'],
    ['order.parcel.sent', 'ends in the past tense "sent"'],
    ['inventory.reserve', 'is not of the form domain.object.action'],
    ['a.b.c.d', 'is not of the form'],
    ['Inventory.stock.reserve', 'is not of the form'],
    ['inventory..reserve', 'is not of the form'],
    ['inventory.stock.1reserve', 'is not of the form'],
    ['inventory.stock.reserve\n', 'is not of the form'],
    ['', 'is not of the form'],
    [`${'a'.repeat(58)}.${'b'.repeat(58)}.goo`, 'at most 120 characters'],
  ])('"%s" is no command: %s', (type, why) => {
    expect(() => assertCommandType(type)).toThrow(why);
  });

  test.each([
    ['inventory.stock.reserve', 'ends in "reserve", which is not in the past tense'],
    ['media.frame.embed', 'ends in "embed"'],
    ['stock.reserved', 'event "stock.reserved" is not of the form'],
  ])('"%s" is no event: %s', (type, why) => {
    expect(() => assertEventType(type)).toThrow(why);
  });

  test('every name of three parts is a command or an event, and only words that are both are both', () => {
    const word = fc.stringMatching(/^[a-z][a-z0-9-]{0,11}$/);
    const verb = fc.oneof(
      word,
      word.map((stem) => `${stem}ed`),
      fc.constantFrom('put', 'read', 'run', 'set', 'split', 'sent', 'kept', 'feed', 'shed', 'proceed', 'ed'),
    );
    const both = new Set(['put', 'read', 'run', 'set', 'split']);
    fc.assert(
      fc.property(word, word, verb, (domain, object, action) => {
        const type = `${domain}.${object}.${action}`;
        const command = accepts(assertCommandType, type);
        const event = accepts(assertEventType, type);
        expect(command || event).toBe(true);
        expect(command && event).toBe(both.has(action));
      }),
      { numRuns: 300 },
    );
  });

  test('whatever is accepted can stand in a filter policy, a URN and a queue attribute', () => {
    const almost = fc.string({
      unit: fc.constantFrom('a', 'B', '.', '-', '1', '_', ' ', 'é', '\n'),
      maxLength: 12,
    });
    fc.assert(
      fc.property(almost, (type) => {
        if (accepts(assertCommandType, type) || accepts(assertEventType, type))
          expect(type).toMatch(/^[a-z0-9-]+\.[a-z0-9-]+\.[a-z0-9-]+$/);
      }),
      { numRuns: 300 },
    );
  });
});

test.each([
  ['Reserve', true],
  ['a', true],
  ['Charge-2_b', true],
  ['x'.repeat(64), true],
  ['x'.repeat(65), false],
  ['', false],
  ['1st', false],
  ['_x', false],
  ['a/b', false],
  ['a#b', false],
  ['a b', false],
  ['Größe', false],
])('step key "%s": %s', (key, expected) => {
  expect(accepts(assertStepKey, key)).toBe(expected);
});

test.each([
  ['order', true],
  ['order-2', true],
  ['x'.repeat(40), true],
  ['x'.repeat(41), false],
  ['', false],
  ['Order', false],
  ['2order', false],
  ['order_2', false],
  ['order/2', false],
])('workflow name "%s": %s', (name, expected) => {
  expect(accepts(assertWorkflowName, name)).toBe(expected);
});

test('schemaUri names type and version', () => {
  expect(schemaUri('a.b.c', 3)).toBe('urn:edow:schema:a.b.c:3');
});

test('no two environment variables share a name, and Lambda takes each', () => {
  const names = Object.values(ENV);
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThan(5);
  for (const name of names) expect(name).toMatch(/^EDOW_[A-Z0-9_]+$/);
});
