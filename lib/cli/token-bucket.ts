/** A token bucket: `burst` calls at once when it is full, `rate` a second in the long run. */
export interface BucketClock {
  /** Milliseconds. */
  readonly now: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
}

/** Below this a token counts as whole: sums of fractions miss it by a little. */
const SLACK = 1e-9;

/**
 * Never more than `burst + rate * seconds` calls in any time.
 * @param rate tokens a second
 * @param burst tokens that it holds; it begins full
 * @returns waits for a token and takes it
 */
export function tokenBucket({ now, sleep }: BucketClock, rate: number, burst: number): () => Promise<void> {
  let tokens = burst;
  let filledAt = now();
  return async () => {
    for (;;) {
      const at = now();
      // A clock that is set back fills nothing.
      tokens = Math.min(burst, tokens + (Math.max(0, at - filledAt) * rate) / 1000);
      filledAt = at;
      if (tokens >= 1 - SLACK) break;
      await sleep(Math.ceil(((1 - tokens) * 1000) / rate));
    }
    tokens -= 1;
  };
}
