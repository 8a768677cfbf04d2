/** Read models in memory. */
import {
  asDeadMessage,
  asDeadRow,
  asRunRow,
  asTimelineEntry,
  deadBounds,
  deadClose,
  deadMessageClose,
  deadMessageKey,
  deadPut,
  deadRunKey,
  deadShard,
  openRows,
  runRowKey,
  runRowPut,
  runSource,
  timelineKey,
  timelinePut,
} from '#adapters/view-items.ts';
import type { Views } from '#core/ports.ts';
import type { Item } from '#core/store.ts';
import { DEAD_INDEX } from '#core/tables.ts';
import { memoryStore } from './store.ts';

export function memoryViews(): Views {
  const store = memoryStore();
  return {
    putRunRow: async (row) => void (await store.put(runRowPut(row))),
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
    addToTimeline: async (entry) => void (await store.put(timelinePut(entry))),
    timeline: async (runId) => (await store.partition(timelineKey(runId))).map(asTimelineEntry),
    runRow: async (tenant, runId) => {
      const item = await store.get(runRowKey(tenant, runId));
      return item && asRunRow(item);
    },
    putDead: async (row) => void (await store.put(deadPut(row))),
    closeDead: async (closed) => void (await store.put(deadClose(closed))),
    closeDeadMessage: async (messageId, expiresAt) =>
      void (await store.put(deadMessageClose(messageId, expiresAt))),
    deadOfRun: async (runId) => openRows(await store.partition(deadRunKey(runId))),
    deadMessage: async (messageId) => asDeadMessage(await store.get(deadMessageKey(messageId))),
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
