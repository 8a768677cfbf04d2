/**
 * A flood of messages of finished tasks, twice over one process: what it asks of the table, and what the filter that
 * saves the writes weighs beside a Set of the same ids. Prints JSON. Run with --expose-gc.
 */
import { seenFilter } from '#core/seen-filter.ts';
import { BATCH, context, event } from './events.ts';
import { make } from './ours.ts';
import { stubClient } from './stub-client.ts';

const MESSAGES = 10_000;

const counts = new Map<string, number>();
const handler = make(stubClient(counts, true)) as unknown as (
  event: object,
  context: object,
) => Promise<unknown>;

async function flood(): Promise<Record<string, number>> {
  counts.clear();
  for (let from = 0; from < MESSAGES; from += BATCH) await handler(event(from), { ...context });
  return Object.fromEntries(counts);
}

/** Bytes of the heap that `keep` leaves behind. */
function weight(keep: () => Set<string>): number {
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const kept = keep();
  globalThis.gc?.();
  const after = process.memoryUsage().heapUsed;
  if (kept.size !== MESSAGES) throw new Error('the set does not hold every id');
  return after - before;
}

/** As they come out of a message: texts of their own. */
const ids = function* (): Generator<string> {
  for (let n = 0; n < MESSAGES; n += 1)
    yield JSON.parse(`"01M8MGTES5BQPMCY5C${String(n).padStart(8, '0')}/ReserveStock/0"`) as string;
};

const first = await flood();
const again = await flood();
const set = weight(() => new Set(ids()));
const filter = seenFilter().bytes;
process.stderr.write(`${JSON.stringify({ messages: MESSAGES, first, again, set, filter })}\n`);
