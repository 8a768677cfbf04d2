/** Writes whose answer may be lost: asked for once more; what the items say then is the truth. */
import { PortUnavailable } from './errors.ts';
import type { Store, TransactResult, Update, WriteResult } from './store.ts';
import type { TableWrite } from './table-write.ts';

/** A write may have taken effect, and nobody can say: what it claimed stays claimed until its lease ends. */
export class Unsettled extends PortUnavailable {
  override readonly name: string = 'Unsettled';
}

/** @throws Unsettled when the second answer was lost as well */
export const writeTwice = (store: Store, update: Update): Promise<WriteResult> =>
  // Nearly every write ends here: nothing else is set up for it.
  store.update(update).catch((error: unknown) => onceMore(error, () => store.update(update)));

/** As {@link writeTwice}, for several writes at once. */
export const transactTwice = (
  store: Store,
  updates: readonly Update[],
  others: readonly TableWrite[] = [],
): Promise<TransactResult> =>
  store
    .transact(updates, others)
    .catch((error: unknown) => onceMore(error, () => store.transact(updates, others)));

async function onceMore<T>(first: unknown, write: () => Promise<T>): Promise<T> {
  if (!(first instanceof PortUnavailable)) throw first;
  try {
    return await write();
  } catch (error) {
    if (!(error instanceof PortUnavailable)) throw error;
    throw new Unsettled(error.message, { cause: error });
  }
}
