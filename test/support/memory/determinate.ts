/** A clock that stands until it is moved, and ids that come in order. */
import { createHash } from 'node:crypto';
import { ulid } from '#adapters/system.ts';
import type { Clock, Ids } from '#core/ports.ts';

export interface ManualClock extends Clock {
  /** Moves the time by so many milliseconds. */
  pass(milliseconds: number): void;
}

/** @param start epoch milliseconds. Default: 1 November 2026, 12:00 UTC */
export function manualClock(start = Date.UTC(2026, 10, 1, 12)): ManualClock {
  let time = start;
  return {
    now: () => time,
    pass: (milliseconds) => {
      time += milliseconds;
    },
  };
}

/** Ids that differ from one another and are the same in every run of the test with this seed. */
export function seededIds(clock: Clock, seed = 'seed'): Ids {
  let asked = 0;
  const bytes = (): Buffer => createHash('sha256').update(`${seed}:${asked++}`).digest();
  return {
    runId: () => ulid(clock.now(), bytes().subarray(0, 10)),
    nonce: () => bytes().toString('hex'),
    traceId: () => bytes().subarray(0, 16).toString('hex'),
    random: () => bytes().readUInt32BE() / 2 ** 32,
  };
}
