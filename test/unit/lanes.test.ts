import { expect, test } from 'vitest';
import { lanes } from '#core/lanes.ts';

test.each([
  ['fewer items than lanes', 3, 10, 3],
  ['as many items as lanes', 4, 4, 4],
  ['more items than lanes', 9, 4, 4],
  ['one lane', 5, 1, 1],
  ['no items', 0, 3, 0],
])('%s: each once, in order, and no more of them at a time', async (_what, count, width, most) => {
  const items = Array.from({ length: count }, (_, n) => n);
  const begun: number[] = [];
  let now = 0;
  let peak = 0;
  await lanes(items, width, async (item) => {
    begun.push(item);
    now += 1;
    peak = Math.max(peak, now);
    await Promise.resolve();
    now -= 1;
  });
  expect(begun).toEqual(items);
  expect([peak, now]).toEqual([most, 0]);
});

test.each([2, 5])('an item that fails rejects the whole; %i at a time, the others go on', async (width) => {
  const done: number[] = [];
  const work = lanes([0, 1, 2, 3, 4], width, async (item) => {
    await Promise.resolve();
    if (item === 1) throw new Error('no');
    done.push(item);
  });
  await expect(work).rejects.toThrow('no');
  await new Promise((resolve) => setTimeout(resolve));
  expect(done.sort()).toEqual([0, 2, 3, 4]);
});
