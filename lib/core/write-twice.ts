import { PortUnavailable } from './errors.ts';
import type { Store, Update, WriteResult } from './store.ts';

/** A write may have taken effect, and nobody can say: what it claimed stays claimed until its lease ends. */
export class Unsettled extends PortUnavailable {
  override readonly name: string = 'Unsettled';
}

/**
 * A lost answer is asked for once more; what the item says then is the truth.
 * @throws Unsettled when the second answer was lost as well
 */
export const writeTwice = (store: Store, update: Update): Promise<WriteResult> =>
  // Nearly every write ends here: nothing else is set up for it.
  store.update(update).catch((error: unknown) => {
    if (!(error instanceof PortUnavailable)) throw error;
    return onceMore(store, update);
  });

async function onceMore(store: Store, update: Update): Promise<WriteResult> {
  try {
    return await store.update(update);
  } catch (error) {
    if (!(error instanceof PortUnavailable)) throw error;
    throw new Unsettled(error.message, { cause: error });
  }
}
