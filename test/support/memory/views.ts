/** Read models in memory. */
import { asDeadRow, asRunRow, deadBounds, deadShard, runSource } from '#adapters/view-items.ts';
import { viewRows } from '#adapters/view-rows.ts';
import type { Views } from '#core/ports.ts';
import type { Item } from '#core/store.ts';
import { DEAD_INDEX } from '#core/tables.ts';
import { type MemoryStoreOptions, memoryStore } from './store.ts';

/** @param options of the store that holds the rows */
export function memoryViews(options: MemoryStoreOptions = {}): Views {
  const store = memoryStore(options);
  return {
    ...viewRows(store),
    listRuns: async (query) => {
      const { partition, workflow } = runSource(query);
      const found = store
        .items()
        .filter((item) => item[partition.attr] === partition.value)
        .filter((item) => workflow === undefined || item['workflow'] === workflow)
        .map(asRunRow)
        .filter(({ runId }) => query.after === undefined || runId < query.after)
        .sort((left, right) => (left.runId < right.runId ? 1 : -1));
      const rows = found.slice(0, query.limit);
      const last = rows.at(-1)?.runId;
      return { rows, ...(last !== undefined && found.length > rows.length && { next: last }) };
    },
    listDead: async (query) => {
      const { from, until } = deadBounds(query);
      const sortOf = (item: Item): string => String(item[DEAD_INDEX.sort]);
      const found = store
        .items()
        .filter((item) => item[DEAD_INDEX.partition] === deadShard(query.shard))
        .filter((item) => sortOf(item) >= from && sortOf(item) <= until && sortOf(item) !== query.after)
        .sort((left, right) => (sortOf(left) < sortOf(right) ? 1 : -1));
      const page = found.slice(0, query.limit);
      const last = page.at(-1);
      return {
        rows: page.flatMap((item) => asDeadRow(item) ?? []),
        ...(last !== undefined && found.length > page.length && { next: sortOf(last) }),
      };
    },
  };
}
