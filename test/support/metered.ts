/** A meter over ports in memory: requests as the adapters would make them, units by AWS's published rule. */
import { itemBytes, readUnits, writeUnits } from '#core/item-bytes.ts';
import type { Item, Store, WriteResult } from '#core/store.ts';

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
