import fc from 'fast-check';
import { expect, test } from 'vitest';
import { tokenBucket } from '#cli/token-bucket.ts';

/** Times at which so many calls went through; `pauses` are waits of the caller between them. */
async function times(rate: number, burst: number, calls: number, pauses: readonly number[] = []) {
  let now = 0;
  const clock = {
    now: () => now,
    sleep: async (milliseconds: number) => {
      now += milliseconds;
    },
  };
  const take = tokenBucket(clock, rate, burst);
  const seen: number[] = [];
  for (let call = 0; call < calls; call += 1) {
    now += pauses[call] ?? 0;
    await take();
    seen.push(now);
  }
  return seen;
}

test('a burst of one: evenly spread, the first at once', async () => {
  expect(await times(4, 1, 4)).toEqual([0, 250, 500, 750]);
  expect(await times(0.1, 1, 3)).toEqual([0, 10_000, 20_000]);
});

test('a full bucket goes at once, then at the rate; a pause fills it again, and no further', async () => {
  expect(await times(10, 3, 5)).toEqual([0, 0, 0, 100, 200]);
  expect(await times(10, 2, 6, [0, 0, 0, 60_000])).toEqual([0, 0, 100, 60_100, 60_100, 60_200]);
});

test('never more than the burst and the rate allow, in any window', () =>
  fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 200 }),
      fc.integer({ min: 1, max: 10 }),
      fc.array(fc.integer({ min: 0, max: 500 }), { minLength: 2, maxLength: 40 }),
      async (rate, burst, pauses) => {
        const seen = await times(rate, burst, pauses.length, pauses);
        for (const [from, start] of seen.entries())
          for (const [index, end] of seen.slice(from).entries())
            expect(index + 1).toBeLessThanOrEqual(burst + (rate * (end - start)) / 1000 + 1e-6);
      },
    ),
  ));

test('a clock that is set back gives nothing away', async () => {
  let now = 1_000;
  const slept: number[] = [];
  const take = tokenBucket(
    {
      now: () => now,
      sleep: async (milliseconds) => {
        slept.push(milliseconds);
        now += milliseconds;
      },
    },
    1,
    1,
  );
  await take();
  now = 0;
  await take();
  expect(slept).toEqual([1_000]);
});
