/** Waiting for what a cloud does in its own time. */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Bounds {
  /** Default 60 s: a busy machine takes ten times as long as an idle one. */
  readonly withinMs?: number;
  /** Between two looks. Default 60 ms. */
  readonly everyMs?: number;
  /** Ends the wait at once. */
  readonly signal?: AbortSignal;
}

/**
 * Looks until there is something to see.
 * @throws Error that names what was awaited, when it did not come in time or the wait was ended
 */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined>,
  { withinMs = 60_000, everyMs = 60, signal }: Bounds = {},
): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (seen !== undefined) return seen;
    if (signal?.aborted) throw new Error(`${what}: given up`);
    if (Date.now() >= deadline) throw new Error(`${what}: not within ${withinMs} ms`);
    await sleep(everyMs);
  }
}
