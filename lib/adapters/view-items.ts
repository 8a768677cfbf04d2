/** How read models are stored in table `views`. */
import { hash } from 'node:crypto';
import {
  type ClosedDead,
  DEAD_SHARDS,
  type DeadMessageRow,
  type DeadQuery,
  type DeadRow,
  type DeadTaskRow,
} from '#core/dead-rows.ts';
import type { RunListQuery, RunRow, TimelineEntry } from '#core/ports.ts';
import type { Item, Key, Put } from '#core/store.ts';
import { absent, all, any, where } from '#core/store.ts';
import { BY_STATUS_INDEX, BY_WORKFLOW_INDEX, DEAD_INDEX } from '#core/tables.ts';

/** Names are joined by `#`, which no tenant or workflow has in its name. */
const runsKey = (tenant: string): string => `RUNS#${tenant}`;
const indexKey = (tenant: string, value: string): string => `${tenant}#${value}`;

export const timelineKey = (runId: string): string => `TIMELINE#${runId}`;

export const runRowPut = (row: RunRow): Put => ({
  item: {
    ...row,
    PK: runsKey(row.tenant),
    SK: row.runId,
    [BY_WORKFLOW_INDEX.partition]: indexKey(row.tenant, row.workflow),
    [BY_STATUS_INDEX.partition]: indexKey(row.tenant, row.status),
  },
  when: any(absent, where('seq', '<', row.seq)),
});

export const timelinePut = (entry: TimelineEntry): Put => ({
  item: { ...entry, PK: timelineKey(entry.runId), SK: `${entry.time}#${entry.eventId}` },
  when: absent,
});

export const runRowKey = (tenant: string, runId: string): Key => ({ PK: runsKey(tenant), SK: runId });

/** Rows of one run's tasks lie together, so that its end finds them. */
export const deadRunKey = (runId: string): string => `DEAD#${runId}`;
export const deadMessageKey = (messageId: string): Key => ({ PK: `DEADMESSAGE#${messageId}`, SK: 'MESSAGE' });

export const deadShard = (shard: number): string => `DEAD#${shard}`;
const shardOf = (id: string): number => (hash('sha256', id, 'buffer')[0] ?? 0) % DEAD_SHARDS;

/** Epoch milliseconds as a key that sorts by time, and that no other row has. */
const deadSort = (lastAt: number, id: string): string => `${new Date(lastAt).toISOString()}#${id}`;

/** Keys of the index: only open rows have them. */
const opened = (id: string, lastAt: number) => ({
  [DEAD_INDEX.partition]: deadShard(shardOf(id)),
  [DEAD_INDEX.sort]: deadSort(lastAt, id),
});

export const deadPut = (row: DeadRow): Put =>
  row.kind === 'task'
    ? {
        item: {
          ...row,
          PK: deadRunKey(row.runId),
          SK: row.taskId,
          ...opened(row.taskId, row.lastAt),
        },
        when: any(absent, where('seq', '<', row.seq)),
      }
    : {
        item: { ...row, ...deadMessageKey(row.messageId), ...opened(row.messageId, row.lastAt) },
        when: absent,
      };

/** What is left of a closed row refuses older ones until they can no longer come. */
export const deadClose = ({ runId, taskId, seq, expiresAt }: ClosedDead): Put => ({
  item: { PK: deadRunKey(runId), SK: taskId, seq, expiresAt },
  when: any(absent, where('seq', '<=', seq)),
});

export const deadMessageClose = (messageId: string, expiresAt: number): Put => ({
  item: { ...deadMessageKey(messageId), expiresAt },
  when: all(),
});

/** Undefined: the row is closed. */
export const asDeadRow = (item: Item): DeadRow | undefined =>
  item[DEAD_INDEX.partition] === undefined ? undefined : (content(item) as unknown as DeadRow);

export const openRows = (items: readonly Item[]): DeadTaskRow[] =>
  items.flatMap((item) => asDeadRow(item) ?? []).filter((row) => row.kind === 'task');

export const asDeadMessage = (item: Item | undefined): DeadMessageRow | undefined => {
  const row = item && asDeadRow(item);
  return row?.kind === 'message' ? row : undefined;
};

/** Bounds of a page's sort keys, both included: a page begins with the last row of the one before. */
export const deadBounds = ({ since, after }: DeadQuery): { from: string; until: string } => ({
  from: since === undefined ? '' : new Date(since).toISOString(),
  until: after ?? '~',
});

/** The item without what only its keys and indexes need. */
function content(item: Item): Omit<Item, 'PK' | 'SK'> {
  const {
    PK: _PK,
    SK: _SK,
    workflowKey: _workflow,
    statusKey: _status,
    deadShard: _shard,
    deadSort: _sort,
    ...rest
  } = item;
  return rest;
}

export const asRunRow = (item: Item): RunRow => content(item) as unknown as RunRow;
export const asTimelineEntry = (item: Item): TimelineEntry => content(item) as unknown as TimelineEntry;

/** Where a query looks: an index, its key, and what is left to filter. */
export interface RunSource {
  readonly index?: string;
  readonly partition: { readonly attr: string; readonly value: string };
  readonly sort: 'SK' | 'runId';
  /** Rows of other workflows are read and dropped. */
  readonly workflow?: string;
}

const within = (index: { name: string; partition: string; sort: 'runId' }, value: string): RunSource => ({
  index: index.name,
  partition: { attr: index.partition, value },
  sort: index.sort,
});

/** Few runs have one status, so with both filters the status chooses the index. */
export function runSource({ tenant, workflow, status }: RunListQuery): RunSource {
  if (status !== undefined)
    return {
      ...within(BY_STATUS_INDEX, indexKey(tenant, status)),
      ...(workflow !== undefined && { workflow }),
    };
  if (workflow !== undefined) return within(BY_WORKFLOW_INDEX, indexKey(tenant, workflow));
  return { partition: { attr: 'PK', value: runsKey(tenant) }, sort: 'SK' };
}
