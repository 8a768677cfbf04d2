/** A meter over ports in memory: requests as the adapters would make them, units by AWS's published rule. */
import { itemBytes, readUnits, transactUnits, writeUnits } from '#core/item-bytes.ts';
import type { Item, Store, WriteResult } from '#core/store.ts';
import type { TableWrite } from '#core/table-write.ts';

export interface Metered {
  /** `DynamoDB.UpdateItem` -> requests. */
  readonly calls: Map<string, number>;
  readUnits: number;
  writeUnits: number;
}

export const newMeter = (): Metered => ({ calls: new Map(), readUnits: 0, writeUnits: 0 });

export const counts = ({ calls }: Metered, name: string): void =>
  void calls.set(name, (calls.get(name) ?? 0) + 1);

const bytesOf = (items: readonly (Item | undefined)[]): number =>
  items.reduce((sum, item) => sum + (item === undefined ? 0 : itemBytes(item)), 0);

/** What a handler's own write puts; of other writes only the key is known, and they count as 1 KB or less. */
const putBytes = (write: TableWrite): number => ('Put' in write ? itemBytes(write.Put.Item as Item) : 0);

/** Each port call is one request, as in the adapter on DynamoDB. Pages of a query are not told apart. */
export function meteredStore(store: Store, meter: Metered): Store {
  const read = async <T extends readonly Item[] | Item | undefined>(name: string, found: Promise<T>) => {
    counts(meter, name);
    const items = await found;
    meter.readUnits += readUnits(bytesOf([items].flat() as Item[]), 'strong');
    return items;
  };
  const write = async (name: string, written: Promise<WriteResult>) => {
    counts(meter, name);
    const result = await written;
    meter.writeUnits += writeUnits(0, bytesOf([result.item]));
    return result;
  };
  return {
    ...store,
    get: (key) => read('DynamoDB.GetItem', store.get(key)),
    partition: (pk) => read('DynamoDB.Query', store.partition(pk)),
    update: (update) => write('DynamoDB.UpdateItem', store.update(update)),
    put: (put) => write('DynamoDB.PutItem', store.put(put)),
    transact: async (updates, others = []) => {
      counts(meter, 'DynamoDB.TransactWriteItems');
      const sizes = () => Promise.all(updates.map(async ({ key }) => bytesOf([await store.get(key)])));
      const before = await sizes();
      const result = await store.transact(updates, others);
      // Whether it was done or cancelled.
      for (const [at, after] of (await sizes()).entries())
        meter.writeUnits += transactUnits(before[at] ?? 0, after);
      for (const other of others) meter.writeUnits += transactUnits(0, putBytes(other));
      return result;
    },
  };
}

/** Counts the calls of some of a port's methods under these names. */
export function meteredPort<Port extends object>(
  port: Port,
  meter: Metered,
  names: Readonly<Partial<Record<keyof Port, string>>>,
): Port {
  const watched = Object.entries(names).map(([method, name]) => {
    const original = port[method as keyof Port] as (...args: unknown[]) => unknown;
    const counted = (...args: unknown[]) => {
      counts(meter, String(name));
      return original.apply(port, args);
    };
    return [method, counted];
  });
  return { ...port, ...Object.fromEntries(watched) };
}
