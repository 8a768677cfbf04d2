/** What a cancelled transaction means for the try whose commit it was: each write's refusal is judged on its own. */
import { PermanentError, RetryAfterError, TaskError } from './errors.ts';
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
      `DynamoDB does not take write ${invalid - 1} of the handler: look at its keys and values`,
      {
        noEffect: true,
      },
    );
  const refused = refusals.flatMap((refusal, at): RefusedWrite[] =>
    refusal?.why === 'condition' ? [{ index: at - 1, item: refusal.item }] : [],
  );
  // A mix: the conflicting neighbour may yet change what the condition saw.
  const settled = refusals.every((refusal) => refusal === undefined || refusal.why === 'condition');
  if (refused.length > 0 && settled)
    return (
      made.refused?.(refused) ??
      new TaskError('condition_refused', `the condition of write ${refused[0]?.index} was refused`, {
        noEffect: true,
      })
    );
  return new RetryAfterError('the transaction met a conflict or was throttled', BUSY_SECONDS, {
    noEffect: true,
  });
}
