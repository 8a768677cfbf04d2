import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { STEP_GRACE_SECONDS } from '#core/dispatch-request.ts';
import {
  backoffMs,
  deferralMs,
  LEASE_GRACE_MS,
  MAX_VISIBILITY_SECONDS,
  maxReceiveCount,
  portAwayMs,
  untilDeadline,
  visibilitySeconds,
} from '#core/retry.ts';

const LONGEST = MAX_VISIBILITY_SECONDS;
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const policy = fc
  .record({ maxSeconds: fc.integer({ min: 1, max: LONGEST }), part: random })
  .map(({ maxSeconds, part }) => ({
    tries: 5,
    maxSeconds,
    baseSeconds: 1 + Math.floor(part * (maxSeconds - 1)),
  }));

describe('visibilitySeconds', () => {
  test.each([
    [0, 1],
    [-5000, 1],
    [1, 1],
    [1000, 1],
    [1001, 2],
    [42_000_000, LONGEST],
    [42_000_001, LONGEST],
    [Number.POSITIVE_INFINITY, LONGEST],
  ])('%d ms are %d s', (milliseconds, seconds) => {
    expect(visibilitySeconds(milliseconds)).toBe(seconds);
  });

  test('end within 12 hours of the receive, however long the function and its batching window were', () => {
    const longestFunction = 15 * 60;
    const longestWindow = 5 * 60;
    expect(LONGEST + longestFunction + longestWindow).toBeLessThanOrEqual(12 * 3600);
  });

  test('are whole, what SQS accepts, no hot loop, and never shorter than what was asked for', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true }), (milliseconds) => {
        const seconds = visibilitySeconds(milliseconds);
        expect(Number.isInteger(seconds)).toBe(true);
        expect(seconds).toBeGreaterThanOrEqual(1);
        expect(seconds).toBeLessThanOrEqual(LONGEST);
        expect(seconds * 1000).toBeGreaterThanOrEqual(Math.min(milliseconds, LONGEST * 1000));
      }),
    );
  });
});

describe('backoffMs', () => {
  const plain = { tries: 5, baseSeconds: 2, maxSeconds: 300 };

  test.each([
    [1, 2000],
    [2, 4000],
    [3, 8000],
    [8, 256_000],
    [9, 300_000],
    [5000, 300_000],
  ])('after try %i the jitter is full, up to %i ms', (tries, ceiling) => {
    expect(backoffMs(plain, tries, 0.999_999_999)).toBe(ceiling);
    expect(backoffMs(plain, tries, 0.75)).toBe(ceiling * 0.75);
    expect(backoffMs(plain, tries, 0)).toBe(1000);
  });

  test('is between a second and the ceiling of its policy, whole, and grows with the draw', () => {
    fc.assert(
      fc.property(policy, fc.integer({ min: 1, max: 2000 }), random, random, (bounds, tries, one, two) => {
        const wait = backoffMs(bounds, tries, one);
        const ceiling = Math.min(bounds.maxSeconds, bounds.baseSeconds * 2 ** (tries - 1)) * 1000;
        expect(Number.isInteger(wait)).toBe(true);
        expect(wait).toBeGreaterThanOrEqual(1000);
        expect(wait).toBeLessThanOrEqual(ceiling);
        const [less, more] = one < two ? [one, two] : [two, one];
        expect(backoffMs(bounds, tries, less)).toBeLessThanOrEqual(backoffMs(bounds, tries, more));
        expect(visibilitySeconds(wait) * 1000).toBeGreaterThanOrEqual(wait);
      }),
    );
  });
});

describe('deferralMs', () => {
  test.each([
    ['what the downstream asked for, when it is longer', 30, 60_000, 10, 30_000],
    ['the pace that reaches the deadline, when it is longer', 1, 60_000, 10, 6000],
    ['the whole time left on the last receive', 0, 60_000, 1, 60_000],
    ['as much when no receive is left', 0, 60_000, 0, 60_000],
    ['a second when the deadline has passed', 0, -5, 10, 1000],
    ['a second for a negative wish', -10, 0, 10, 1000],
    ['the pace for a wish that is no number', Number.NaN, 60_000, 10, 6000],
    ['the pace for an endless wish', Number.POSITIVE_INFINITY, 60_000, 10, 6000],
    ['a fraction of a second, rounded up', 1.0001, 0, 10, 1001],
  ])('is %s', (_what, asked, left, receives, wait) => {
    expect(deferralMs(asked, left, receives)).toBe(wait);
  });

  test('the receives left reach the deadline, however few they are', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 100, noNaN: true }),
        fc.integer({ min: -1000, max: 4 * 86_400_000 }),
        fc.integer({ min: 1, max: 25 }),
        (asked, left, receives) => {
          const wait = deferralMs(asked, left, receives);
          expect(wait * receives).toBeGreaterThanOrEqual(left);
          expect(wait).toBeGreaterThanOrEqual(asked * 1000);
          expect(wait).toBeGreaterThanOrEqual(1000);
        },
      ),
    );
  });
});

describe('untilDeadline', () => {
  test.each([
    ['a wait that ends before the deadline', 7000, 60_000, 7000],
    ['the time to the deadline, when the wait is longer', 90_000, 60_000, 60_000],
    ['a second when the deadline has passed', 90_000, -5, 1000],
    ['a second when less than one is left', 90_000, 5, 1000],
  ])('is %s', (_what, wait, left, expected) => {
    expect(untilDeadline(wait, left)).toBe(expected);
  });
});

test('18 receives, those of three tries, outlast an outage of an hour and more', () => {
  const waits = Array.from({ length: 17 }, (_, n) => portAwayMs(n + 1, 0.5) / 1000);
  expect(waits.slice(0, 9)).toEqual([2.5, 5, 10, 20, 40, 80, 160, 300, 300]);
  expect(waits.reduce((sum, wait) => sum + wait, 0)).toBeGreaterThan(3000);
  expect(portAwayMs(1, 0)).toBe(1000);
});

test('a queue gives 15 receives beside the tries', () => {
  expect(maxReceiveCount(1)).toBe(16);
  expect(maxReceiveCount(5)).toBe(20);
});

test("a state outlasts its step's deadline by more than the grace of a lease", () => {
  expect(STEP_GRACE_SECONDS * 1000).toBeGreaterThan(LEASE_GRACE_MS);
});
