/** The table of state behind a port per actor, and the stream of its changes. */
import type { Item, Key, Store } from '#core/store.ts';
import { memoryStore, type OtherTables } from '#test/memory/store.ts';
import type { Actor, Actors } from './actors.ts';

export interface Change {
  readonly before: Item | undefined;
  readonly after: Item;
}

export interface Tables {
  /** The store as this actor sees it. */
  store(actor: Actor): Store;
  /** True items, without any call. */
  items(): Item[];
  item(key: Key): Item | undefined;
  /** Told of each change, in order. */
  onChange(listener: (change: Change) => void): void;
  /** Whether any open run is due for a check. */
  isDue(until: number): boolean;
}

/** @param others tables that are not ours */
export function tablesOf(actors: Actors, others: OtherTables): Tables {
  const listeners: ((change: Change) => void)[] = [];
  const due = new Map<string, number>();
  const current = new Map<string, Item>();
  const memory = memoryStore({
    copies: false,
    others,
    onChange: (before, after) => {
      if (typeof after['checkAt'] === 'number') due.set(after.PK, after['checkAt']);
      else if (after.SK === 'RUN') due.delete(after.PK);
      current.set(`${after.PK} ${after.SK}`, after);
      for (const listener of listeners) listener({ before, after });
    },
  });
  const read = { refused: ['store throttled'] } as const;
  const write = {
    refused: ['store throttled'],
    lost: 'store answer lost',
    delayed: 'store write delayed',
  } as const;
  return {
    items: () => [...current.values()],
    item: ({ PK, SK }) => current.get(`${PK} ${SK}`),
    onChange: (listener) => {
      listeners.push(listener);
    },
    isDue: (until) => [...due.values()].some((at) => at <= until),
    store: (actor) => ({
      get: (key) => actors.call(actor, `get ${key.SK}`, () => memory.get(key), read),
      update: (update) => actors.call(actor, `update ${update.key.SK}`, () => memory.update(update), write),
      put: (put) => actors.call(actor, `put ${put.item.SK}`, () => memory.put(put), write),
      transact: (updates, others) =>
        actors.call(
          actor,
          `transact ${updates.map(({ key }) => key.SK).join()}`,
          () => memory.transact(updates, others),
          write,
        ),
      partition: (pk) => actors.call(actor, 'partition', () => memory.partition(pk), read),
      // A sweep looks at 16 shards: one await for those that hold nothing would only take time.
      openRuns: async (shard, until, limit) => {
        const found = await memory.openRuns(shard, until, limit);
        return found.length === 0 ? [] : actors.call(actor, `open runs ${shard}`, () => found, read);
      },
    }),
  };
}
