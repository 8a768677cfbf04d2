/** Waits and limits. One layer owns retries: the queue. */
import type { RetryPolicy } from './contract.ts';

/**
 * Receives beside the tries: throttled polls, batch-mates of a crash and duplicates burn receives without a try.
 * At most tries + 15 receives a message, and never more than `tries` runs of the handler a round.
 */
const SPARE_RECEIVES = 15;

/** `maxReceiveCount` of a queue whose tasks have this many tries at most. */
export const maxReceiveCount = (tries: number): number => tries + SPARE_RECEIVES;

/**
 * Longest wait of a message. SQS refuses a visibility that would end more than 12 hours after the message's receive,
 * and a refused one lets the message come back after the queue's own time-out instead: 43,200 s, less 900 for the
 * longest function and 300 for the longest batching window of a mapping, both of which pass before we ask.
 */
export const MAX_VISIBILITY_SECONDS = 42_000;

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

/**
 * No wait leads past the step's deadline: there the message comes back and its task expires with a reason, while a
 * longer sleep would leave it without an outcome until then. Milliseconds, at least one second.
 */
export const untilDeadline = (waitMs: number, untilDeadlineMs: number): number =>
  Math.max(1000, Math.min(waitMs, untilDeadlineMs));

/** While a port is away a message is received rarely: its receives outlast an outage of an hour. */
const PORT_AWAY: RetryPolicy = { tries: 1, baseSeconds: 5, maxSeconds: 600 };

/** How long a message waits whose task could not even be looked at. Milliseconds, by the receives so far (from 1). */
export const portAwayMs = (receives: number, random: number): number =>
  backoffMs(PORT_AWAY, receives, random);
