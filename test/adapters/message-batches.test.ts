import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BATCH_BYTES, BATCH_ENTRIES, batches } from '#adapters/message-batches.ts';

const cut = (...sizes: number[]) => {
  const { batches: made, tooLarge } = batches(sizes.map((bytes) => ({ bytes })));
  return [made.map((batch) => batch.map(({ bytes }) => bytes)), tooLarge.map(({ bytes }) => bytes)];
};

test('ten entries a batch', () => {
  const sizes = Array.from({ length: 21 }, () => 1);
  const [made] = cut(...sizes);
  expect(made?.map((batch) => (batch as number[]).length)).toEqual([10, 10, 1]);
});

test('exactly the limit fits, one byte more begins another batch', () => {
  expect(cut(BATCH_BYTES - 1, 1)).toEqual([[[BATCH_BYTES - 1, 1]], []]);
  expect(cut(BATCH_BYTES - 1, 2)).toEqual([[[BATCH_BYTES - 1], [2]], []]);
});

test('what fits no batch is set aside and parts none', () => {
  expect(cut(1, BATCH_BYTES + 1, 2)).toEqual([[[1, 2]], [BATCH_BYTES + 1]]);
  expect(cut(BATCH_BYTES)).toEqual([[[BATCH_BYTES]], []]);
});

test('whatever the sizes: nothing is lost, no limit is passed, the order is kept', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: BATCH_BYTES + 9 }), { maxLength: 60 }), (sizes) => {
      const [made = [], tooLarge = []] = cut(...sizes) as [number[][], number[]];
      for (const batch of made) {
        expect(batch.length).toBeLessThanOrEqual(BATCH_ENTRIES);
        expect(batch.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(BATCH_BYTES);
      }
      expect(made.flat()).toEqual(sizes.filter((size) => size <= BATCH_BYTES));
      expect(tooLarge).toEqual(sizes.filter((size) => size > BATCH_BYTES));
    }),
  );
});
