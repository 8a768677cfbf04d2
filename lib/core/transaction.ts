/** What a cancelled transaction means for the try whose commit it was: each write's refusal is judged on its own. */
import { PermanentError, PortUnavailable, RetryAfterError, TaskError } from './errors.ts';
import type { Handled } from './handling.ts';
import type { Refusal } from './store.ts';
import type { RefusedWrite } from './table-write.ts';

/** Conflicts and throttling outlasted the adapter's own repetitions: seconds until the next try. */
const BUSY_SECONDS = 1;

/**
 * The error of the try. Nothing was written, so it certainly had no effect.
 * @param refusals of the commit itself, which was not refused by its own condition, and of the handler's writes
 */
export function errorOf(refusals: readonly (Refusal | undefined)[], made: Handled): Error {
  const invalid = refusals.findIndex((refusal) => refusal?.why === 'invalid');
  if (invalid >= 0)
    return new PermanentError(
      `DynamoDB does not take ${invalid === 0 ? "the task's own write" : `write ${invalid - 1} of the handler`}: look at its keys and values`,
      { noEffect: true },
    );
  const refused = refusals.flatMap((refusal, at): RefusedWrite[] =>
    refusal?.why === 'condition' ? [{ index: at - 1, item: refusal.item }] : [],
  );
  // A mix: the conflicting neighbour may yet change what the condition saw.
  const settled = refusals.every((refusal) => refusal === undefined || refusal.why === 'condition');
  if (refused.length > 0 && settled) return said(refused, made);
  return new RetryAfterError('the transaction met a conflict or was throttled', BUSY_SECONDS, {
    noEffect: true,
  });
}

/** What the handler says of its refused conditions, by returning it or by throwing it. Default: another try. */
function said(refused: readonly RefusedWrite[], made: Handled): Error {
  try {
    const error = made.refused?.(refused);
    if (error !== undefined) return error;
  } catch (error) {
    return error as Error;
  }
  return new TaskError('condition_refused', `the condition of write ${refused[0]?.index} was refused`, {
    noEffect: true,
  });
}

/** The transaction was refused as a whole (one item in two writes, too much of it, no grant for a table): a failed try. */
export function notTaken(error: Error): Error {
  if (error instanceof PortUnavailable) throw error;
  return error;
}
