/** A store whose calls meet others in between, or whose answers are lost: the schedule of a race, written down. */
import { PortUnavailable } from '#core/errors.ts';
import type { Store } from '#core/store.ts';

export interface StoreCall {
  readonly name: 'get' | 'update' | 'put' | 'partition' | 'transact';
  readonly key: string;
  /** Calls of this name so far, this one included. */
  readonly number: number;
}

export interface Troubles {
  /** Happens right before the call. */
  readonly before?: (call: StoreCall) => Promise<unknown> | undefined;
  /** The call takes effect, and its answer does not come. */
  readonly lost?: (call: StoreCall) => boolean;
}

export function unreliableStore(store: Store, { before, lost }: Troubles): Store {
  const counts = new Map<string, number>();
  async function through<T>(name: StoreCall['name'], key: string, carryOut: () => Promise<T>): Promise<T> {
    const number = (counts.get(name) ?? 0) + 1;
    counts.set(name, number);
    await before?.({ name, key, number });
    const answer = await carryOut();
    if (lost?.({ name, key, number })) throw new PortUnavailable('the answer was lost');
    return answer;
  }
  return {
    get: (key) => through('get', key.SK, () => store.get(key)),
    update: (update) => through('update', update.key.SK, () => store.update(update)),
    put: (put) => through('put', put.item.SK, () => store.put(put)),
    transact: (updates, others) =>
      through('transact', updates.map(({ key }) => key.SK).join(), () => store.transact(updates, others)),
    partition: (pk) => through('partition', pk, () => store.partition(pk)),
    openRuns: (shard, until, limit) => store.openRuns(shard, until, limit),
  };
}
