/** The end of the time that a record's work has: calls to AWS that are made for it end there, and none begins later. */
import { AsyncLocalStorage } from 'node:async_hooks';

const current = new AsyncLocalStorage<AbortSignal>();

/** Runs `work` under a signal; every call that it makes, however deep, sees it. */
export const underSignal = <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> =>
  current.run(signal, work);

/** The signal of the record that is worked on; undefined where none has a time of its own. */
export const callSignal = (): AbortSignal | undefined => current.getStore();
