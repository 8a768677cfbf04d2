/** The store in memory: the rules of core over a map. Every call is atomic. */
import type { Item, Key, Store, WriteResult } from '#core/store.ts';
import { applied, assertKeyKept, holds, storedItem, textOrder } from '#core/store-rules.ts';
import { OPEN_INDEX } from '#core/tables.ts';

export interface MemoryStoreOptions {
  /** Called in the order of the writes, as a stream with old and new images would be. Never called for refused ones. */
  readonly onChange?: (before: Item | undefined, after: Item) => void;
  /** Whether what is handed out is a copy. Default true; false is faster, for readers that change nothing. */
  readonly copies?: boolean;
}

export interface MemoryStore extends Store {
  /** Copies of all items, in the order of their keys. */
  items(): Item[];
}

const idOf = ({ PK, SK }: Key): string => `${PK.length} ${PK}${SK}`;
const byKey = (left: Key, right: Key): number => textOrder(left.PK, right.PK) || textOrder(left.SK, right.SK);

export function memoryStore({ onChange, copies = true }: MemoryStoreOptions = {}): MemoryStore {
  const held = new Map<string, Item>();

  const handedOut = (item: Item): Item => (copies ? storedItem(item) : item);
  const copyOf = (item: Item | undefined): Item | undefined => item && handedOut(item);
  const write = (after: Item): WriteResult => {
    const id = idOf(after);
    const before = held.get(id);
    held.set(id, after);
    onChange?.(copyOf(before), handedOut(after));
    return { written: true, item: handedOut(after) };
  };
  const refuse = (item: Item | undefined): WriteResult => ({ written: false, item: copyOf(item) });
  const items = (): Item[] => [...held.values()].sort(byKey).map(storedItem);

  return {
    items,
    get: async (key) => copyOf(held.get(idOf(key))),
    update: async (update) => {
      assertKeyKept(update.key, update.changes);
      const item = held.get(idOf(update.key));
      return holds(update.when, item) ? write(applied(update, item)) : refuse(item);
    },
    put: async (put) => {
      const item = held.get(idOf(put.item));
      return holds(put.when, item) ? write(storedItem(put.item)) : refuse(item);
    },
    partition: async (pk) =>
      [...held.values()]
        .filter(({ PK }) => PK === pk)
        .sort(byKey)
        .map(handedOut),
    openRuns: async (shard, until, limit) =>
      [...held.values()]
        .filter((item) => item[OPEN_INDEX.partition] === shard)
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
