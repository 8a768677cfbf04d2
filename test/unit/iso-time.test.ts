import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isoTime } from '#core/iso-time.ts';

/** Within one second, over its ends, and back. */
const times = fc
  .tuple(
    fc.constantFrom(
      0,
      1_795_983_862_469,
      253_402_300_799_000,
      8_640_000_000_000_000 - 2000,
      -62_167_219_200_000,
    ),
    fc.array(fc.integer({ min: -2000, max: 2000 }), { minLength: 1, maxLength: 8 }),
  )
  .map(([base, offsets]) => offsets.map((offset) => base + offset));

test('any times in a row are written as Date writes them', () => {
  fc.assert(
    fc.property(times, (row) => {
      for (const time of row) expect(isoTime(time)).toBe(new Date(time).toISOString());
    }),
    { numRuns: 500 },
  );
});

test('what is no time is refused, and is no obstacle to the next', () => {
  for (const time of [Number.NaN, Number.POSITIVE_INFINITY, 9e15])
    expect(() => isoTime(time)).toThrow(RangeError);
  expect(isoTime(1_795_983_862_469)).toBe('2026-11-29T20:24:22.469Z');
});
