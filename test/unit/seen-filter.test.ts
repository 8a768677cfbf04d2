import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seenFilter } from '#core/seen-filter.ts';

const id = (n: number): string => `01M8MGTES5BQPMCY5CWF9CK7K${n}/ReserveStock/0`;

describe('seen filter', () => {
  test('never forgets one of the newest: there is no false negative', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 300 }), (ids) => {
        const filter = seenFilter(300);
        for (const one of ids) filter.add(one);
        for (const one of ids) expect(filter.mayHave(one)).toBe(true);
      }),
    );
  });

  test('is wrong about at most one in a thousand that it never saw, also when both generations are full', () => {
    const filter = seenFilter(2000);
    for (let n = 0; n < 4000; n += 1) filter.add(id(n));
    let wrong = 0;
    for (let n = 4000; n < 44_000; n += 1) if (filter.mayHave(id(n))) wrong += 1;
    // 40 expected; three standard deviations of a binomial above it.
    expect(wrong).toBeLessThanOrEqual(59);
    expect(wrong).toBeGreaterThan(4);
  });

  test('is bounded: the oldest generation is forgotten, the newest capacity of ids is known', () => {
    const filter = seenFilter(1000);
    for (let n = 0; n < 5000; n += 1) filter.add(id(n));
    for (let n = 4000; n < 5000; n += 1) expect(filter.mayHave(id(n))).toBe(true);
    let old = 0;
    for (let n = 0; n < 2000; n += 1) if (filter.mayHave(id(n))) old += 1;
    expect(old).toBeLessThan(20);
    expect(filter.bytes).toBeLessThan(1000 * 4.2);
  });

  test('the same id again fills nothing', () => {
    const filter = seenFilter(2);
    filter.add('a');
    for (let n = 0; n < 10; n += 1) filter.add('b');
    expect(filter.mayHave('a')).toBe(true);
  });
});
