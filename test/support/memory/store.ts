/** The store in memory: the rules of core over a map. Every call is atomic. */
import type { Item, Key, Refusal, Store, WriteResult } from '#core/store.ts';
import { applied, assertKeyKept, holds, storedItem, textOrder } from '#core/store-rules.ts';
import type { TableWrite } from '#core/table-write.ts';
import { OPEN_INDEX } from '#core/tables.ts';

export interface MemoryStoreOptions {
  /** Called in the order of the writes, as a stream with old and new images would be. Never called for refused ones. */
  readonly onChange?: (before: Item | undefined, after: Item) => void;
  /** Whether what is handed out is a copy. Default true; false is faster, for readers that change nothing. */
  readonly copies?: boolean;
  /** Tables that are not ours: what a handler's writes do there. Default: there are none. */
  readonly others?: OtherTables;
}

export interface OtherTables {
  /** Why this write would be refused now; undefined: it would be taken. */
  refusal(write: TableWrite): Refusal | undefined;
  apply(write: TableWrite): void;
}

const NO_TABLES: OtherTables = {
  refusal: () => ({ why: 'invalid' }),
  apply: () => {},
};

export interface MemoryStore extends Store {
  /** Copies of all items, in the order of their keys. */
  items(): Item[];
}

const byKey = (left: Key, right: Key): number => textOrder(left.PK, right.PK) || textOrder(left.SK, right.SK);

export function memoryStore({
  onChange,
  copies = true,
  others: tables = NO_TABLES,
}: MemoryStoreOptions = {}): MemoryStore {
  const partitions = new Map<string, Map<string, Item>>();
  /** Items in the index of open runs, by its partition. */
  const indexed = new Map<unknown, Set<Item>>();

  const handedOut = (item: Item): Item => (copies ? storedItem(item) : item);
  const copyOf = (item: Item | undefined): Item | undefined => item && handedOut(item);
  const write = (after: Item): WriteResult => {
    const partition = partitions.get(after.PK) ?? new Map<string, Item>();
    partitions.set(after.PK, partition);
    const before = partition.get(after.SK);
    partition.set(after.SK, after);
    const [old, shard] = [before?.[OPEN_INDEX.partition], after[OPEN_INDEX.partition]];
    if (before !== undefined && old !== undefined) indexed.get(old)?.delete(before);
    if (shard !== undefined) indexed.set(shard, (indexed.get(shard) ?? new Set()).add(after));
    onChange?.(copyOf(before), handedOut(after));
    return { written: true, item: handedOut(after) };
  };
  const refuse = (item: Item | undefined): WriteResult => ({ written: false, item: copyOf(item) });
  const itemAt = ({ PK, SK }: Key): Item | undefined => partitions.get(PK)?.get(SK);
  const items = (): Item[] =>
    [...partitions.values()]
      .flatMap((partition) => [...partition.values()])
      .sort(byKey)
      .map(storedItem);

  return {
    items,
    get: async (key) => copyOf(itemAt(key)),
    update: async (update) => {
      assertKeyKept(update.key, update.changes);
      const item = itemAt(update.key);
      return holds(update.when, item) ? write(applied(update, item)) : refuse(item);
    },
    put: async (put) => {
      const item = itemAt(put.item);
      return holds(put.when, item) ? write(storedItem(put.item)) : refuse(item);
    },
    transact: async (updates, others = []) => {
      const items = updates.map(({ key }) => itemAt(key));
      const refusals = [
        ...updates.map(({ key, when, changes }, at): Refusal | undefined => {
          assertKeyKept(key, changes);
          return holds(when, items[at]) ? undefined : { why: 'condition', item: copyOf(items[at]) };
        }),
        ...others.map((write) => tables.refusal(write)),
      ];
      if (refusals.some((refusal) => refusal !== undefined)) return { written: false, refusals };
      for (const [at, update] of updates.entries())
        if (Object.keys(update.changes).length > 0) write(applied(update, items[at]));
      for (const other of others) tables.apply(other);
      return { written: true };
    },
    partition: async (pk) => [...(partitions.get(pk)?.values() ?? [])].sort(byKey).map(handedOut),
    openRuns: async (shard, until, limit) =>
      [...(indexed.get(shard) ?? [])]
        .sort(byKey)
        .map((item) => ({ at: item[OPEN_INDEX.sort], key: { PK: item.PK, SK: item.SK } }))
        .filter(
          (entry): entry is { at: number; key: Key } => typeof entry.at === 'number' && entry.at <= until,
        )
        .sort((left, right) => left.at - right.at)
        .slice(0, limit)
        .map(({ key }) => key),
  };
}
