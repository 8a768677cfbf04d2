/** Read models in memory. */
import {
  asRunRow,
  asTimelineEntry,
  runRowPut,
  runSource,
  timelineKey,
  timelinePut,
} from '#adapters/view-items.ts';
import type { Views } from '#core/ports.ts';
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
  };
}
