/** Read models row by row: apart from the lists, so that those who only write do not carry them. */
import type { ViewRows } from '#core/ports.ts';
import type { Store } from '#core/store.ts';
import {
  asDeadMessage,
  asRunRow,
  asTimelineEntry,
  deadClose,
  deadMessageClose,
  deadMessageKey,
  deadPut,
  deadRunKey,
  openRows,
  runRowKey,
  runRowPut,
  timelineKey,
  timelinePut,
} from './view-items.ts';

/** @param store on table `views` */
export function viewRows(store: Store): ViewRows {
  return {
    putRunRow: async (row) => void (await store.put(runRowPut(row))),
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
  };
}
