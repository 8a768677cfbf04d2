/** The table of state behind a port per actor, and the stream of its changes. */
import type { Item, Key, Store, Update } from '#core/store.ts';
import { memoryStore, type OtherTables } from '#test/memory/store.ts';
import { type Actor, type Actors, LOST_MS } from './actors.ts';
import type { Faults } from './faults.ts';
import type { Random } from './random.ts';

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

/** A holder gives its claim back. */
const isRetry = (actor: Actor, { changes: { status } }: Update): boolean =>
  actor.role === 'worker' && status !== undefined && 'to' in status && status.to === 'retrying';

/** A next try that is not far away, and an answer that comes after its claim. */
const SOON_MS = 3000;
const OVERTAKEN_MS = [2500, 6000] as const;
/** The index of open runs follows the table at its own pace. */
const INDEX_BEHIND_MS = 120_000;

const NOTHING: Promise<Key[]> = Promise.resolve([]);

export interface TableParts {
  readonly actors: Actors;
  readonly faults: Faults;
  readonly random: Random;
  readonly now: () => number;
  /** Tables that are not ours. */
  readonly others: OtherTables;
  /** Another worker gets the message of this task now, if that is to happen. */
  readonly handOut: (task: Key) => boolean;
}

export function tablesOf({ actors, faults, random, now, others, handOut }: TableParts): Tables {
  const listeners: ((change: Change) => void)[] = [];
  const due = new Map<string, number>();
  const current = new Map<string, Item>();
  /** Parts of the index of open runs that have ever held a run. */
  const used = new Set<unknown>();
  /** Where runs were in the index until lately. */
  const left = new Map<string, { key: Key; shard: string; checkAt: number; at: number }>();
  const memory = memoryStore({
    copies: false,
    others,
    onChange: (before, after) => {
      const shard = before?.['openShard'];
      if (typeof shard === 'string' && shard !== after['openShard'])
        left.set(after.PK, {
          key: { PK: after.PK, SK: after.SK },
          shard,
          checkAt: Number(before?.['checkAt']),
          at: now(),
        });
      if (typeof after['checkAt'] === 'number') due.set(after.PK, after['checkAt']);
      else if (after.SK === 'RUN') due.delete(after.PK);
      used.add(after['openShard']);
      current.set(`${after.PK} ${after.SK}`, after);
      for (const listener of listeners) listener({ before, after });
    },
  });
  const read = { refused: ['store throttled'], denied: 'access denied' } as const;
  const write = {
    refused: ['store throttled'],
    denied: 'access denied',
    lost: 'store answer lost',
    delayed: 'store write delayed',
  } as const;
  /** Runs that a reader of the index may still see in this part of it. */
  const leftLately = (shard: string, until: number): Key[] =>
    [...left.values()]
      .filter((run) => run.shard === shard && run.checkAt <= until && run.at + INDEX_BEHIND_MS > now())
      .map(({ key }) => key);

  /** How long the client waits for the answer of a retry that the next claim overtakes. */
  const overtaken = ({ key, changes: { notBefore } }: Update): number | undefined => {
    const waits = notBefore !== undefined && 'to' in notBefore ? Number(notBefore.to) - now() : 0;
    if (waits < SOON_MS && handOut(key)) return random.between(...OVERTAKEN_MS);
    return faults.strikes(write.lost) ? random.between(...LOST_MS) : undefined;
  };
  const transactionLost = (): number | undefined =>
    faults.strikes('transaction answer lost') || faults.strikes(write.lost)
      ? random.between(...LOST_MS)
      : undefined;
  async function dueIn(actor: Actor, shard: string, until: number, limit: number): Promise<Key[]> {
    const found = await memory.openRuns(shard, until, limit);
    if (leftLately(shard, until).length > 0 && faults.strikes('index behind'))
      found.push(...leftLately(shard, until));
    return found.length === 0 ? [] : actors.call(actor, `open runs ${shard}`, () => found, read);
  }

  return {
    items: () => [...current.values()],
    item: ({ PK, SK }) => current.get(`${PK} ${SK}`),
    onChange: (listener) => {
      listeners.push(listener);
    },
    isDue: (until) => [...due.values()].some((at) => at <= until),
    store: (actor) => ({
      get: (key) => actors.call(actor, `get ${key.SK}`, () => memory.get(key), read),
      update: (update) =>
        actors.call(
          actor,
          `update ${update.key.SK}`,
          () => memory.update(update),
          isRetry(actor, update) ? { ...write, lost: () => overtaken(update) } : write,
        ),
      put: (put) => actors.call(actor, `put ${put.item.SK}`, () => memory.put(put), write),
      transact: (updates, others) =>
        actors.call(
          actor,
          `transact ${updates.map(({ key }) => key.SK).join()}`,
          async () =>
            (others ?? []).length === 0 && faults.strikes('line in conflict')
              ? { written: false, refusals: [undefined, { why: 'conflict' }] }
              : memory.transact(updates, others),
          { ...write, slow: 'transaction slow', lost: transactionLost },
        ),
      partition: (pk) => actors.call(actor, 'partition', () => memory.partition(pk), read),
      // A sweep looks at many shards: a call for those that hold nothing due would only take time.
      openRuns: (shard, until, limit) => (used.has(shard) ? dueIn(actor, shard, until, limit) : NOTHING),
    }),
  };
}
