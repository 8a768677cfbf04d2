import { describe, expect, test } from 'vitest';
import { itemBytes, readUnits, transactUnits, writeUnits } from '#core/item-bytes.ts';

describe('itemBytes', () => {
  test("is 23 for AWS's own example: shirt-color R and shirt-size M", () => {
    expect(itemBytes({ 'shirt-color': 'R', 'shirt-size': 'M' })).toBe(23);
  });

  // Names of one byte, so that each number is 1 + the size of the value.
  test.each([
    ['text by its UTF-8 bytes', 'é✓', 1 + 2 + 3],
    ['an empty text', '', 1],
    ['a boolean, 1 byte', true, 1 + 1],
    ['zero', 0, 1 + 1],
    ['one digit', 7, 1 + 1 + 1],
    ['two digits', 27, 1 + 1 + 1],
    ['three digits', 123, 1 + 2 + 1],
    ['trailing zeros do not count', 1_700_000_000_000, 1 + 1 + 1],
    ['leading zeros do not count', 0.0027, 1 + 1 + 1],
    ['13 digits of a time', 1_795_983_862_469, 1 + 7 + 1],
    ['a sign', -27, 1 + 1 + 1 + 1],
    ['a set by its members', new Set(['ab', 'c']), 1 + 3],
    ['an empty list, 3 bytes', [], 1 + 3],
    ['an empty map, 3 bytes', {}, 1 + 3],
    ['a list: 3 bytes and 1 an element', ['ab', true], 1 + 3 + (1 + 2) + (1 + 1)],
    ['a map: 3 bytes and 1 an element', { ab: 'c' }, 1 + 3 + (1 + 2 + 1)],
    ['what is not stored costs nothing', undefined, 0],
  ])('counts %s', (_what, value, bytes) => {
    expect(itemBytes({ a: value })).toBe(bytes);
  });
});

test.each([
  [0, 0, 1],
  [0, 1024, 1],
  [0, 1025, 2],
  [3000, 10, 3],
  // AWS: "If your item size is 2 KB, you require 2 write request units".
  [0, 2048, 2],
])('a write of %i bytes before and %i after costs %i units', (before, after, units) => {
  expect(writeUnits(before, after)).toBe(units);
  // AWS: "two underlying reads or writes of every item in the transaction".
  expect(transactUnits(before, after)).toBe(2 * units);
});

test.each([
  [0, 'strong', 1],
  [0, 'eventual', 0.5],
  [4096, 'strong', 1],
  [4097, 'strong', 2],
  // AWS: "if your item size is 8 KB, you require 2 read request units" strongly consistent, 1 eventually.
  [8192, 'strong', 2],
  [8192, 'eventual', 1],
] as const)('a read of %i bytes, %s, costs %d units', (bytes, consistency, units) => {
  expect(readUnits(bytes, consistency)).toBe(units);
});
