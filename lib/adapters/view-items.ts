/** How read models are stored in table `views`. */
import type { RunListQuery, RunRow, TimelineEntry } from '#core/ports.ts';
import type { Item, Put } from '#core/store.ts';
import { absent, any, where } from '#core/store.ts';
import { BY_STATUS_INDEX, BY_WORKFLOW_INDEX } from '#core/tables.ts';

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

/** The item without what only its keys and indexes need. */
function content(item: Item): Omit<Item, 'PK' | 'SK'> {
  const { PK: _PK, SK: _SK, workflowKey: _workflow, statusKey: _status, ...rest } = item;
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
