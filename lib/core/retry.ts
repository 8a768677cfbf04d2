/** Waits and limits. One layer owns retries: the queue. */
import type { RetryPolicy } from './contract.ts';

/**
 * Receives beside the tries: throttled polls, batch-mates of a crash and duplicates burn receives without a try.
 * At most tries + 15 receives a message, and never more than `tries` runs of the handler a round.
 */
const SPARE_RECEIVES = 15;

/** `maxReceiveCount` of a queue whose tasks have this many tries at most. */
export const maxReceiveCount = (tries: number): number => tries + SPARE_RECEIVES;

/** SQS: 12 hours. */
const MAX_VISIBILITY_SECONDS = 43_200;

/**
 * Two clocks and one downstream time-out: how long after its lease a claim is still respected, and how much later
 * than a death a copy must have been sent to count as a redrive.
 */
export const LEASE_GRACE_MS = 15_000;

/** Whole seconds, rounded up, that SQS accepts and that are no hot loop. */
export const visibilitySeconds = (milliseconds: number): number =>
  Math.min(MAX_VISIBILITY_SECONDS, Math.max(1, Math.ceil(milliseconds / 1000)));

/** Full-jitter exponential back-off in milliseconds after the given number of tries (from 1), at least one second. */
export function backoffMs(policy: RetryPolicy, tries: number, random: number): number {
  const ceiling = Math.min(policy.maxSeconds, policy.baseSeconds * 2 ** Math.min(tries - 1, 30));
  return Math.max(1000, Math.round(random * ceiling * 1000));
}

/**
 * Deferrals in a round. A downstream that asks everybody to come back later hears from one task 12 times at most: the
 * first call and one after each wait, spread until the deadline. The receives alone would allow 25.
 */
export const MAX_DEFERRALS = 11;

/**
 * How long a deferred task waits: what the downstream asked for, and at least so long that the waits left reach the
 * deadline. Milliseconds.
 */
export function deferralMs(retryAfterSeconds: number, untilDeadlineMs: number, waitsLeft: number): number {
  const asked = Number.isFinite(retryAfterSeconds) ? Math.max(0, retryAfterSeconds) * 1000 : 0;
  const paced = Math.max(0, untilDeadlineMs) / Math.max(1, waitsLeft);
  return Math.max(1000, Math.ceil(Math.max(asked, paced)));
}
