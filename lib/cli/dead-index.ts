/** The index of dead letters, read without touching a queue: filtered, and grouped by cause. */
import { DEAD_SHARDS, type DeadRow } from '#core/dead-rows.ts';
import type { Views } from '#core/ports.ts';
import { equal, type LetterFilter } from './letter-filter.ts';
import type { Source } from './ports.ts';

const PAGE = 500;

/** Every open row that died since then, newest first. */
export async function indexedDead(
  views: Pick<Views, 'listDead'>,
  since: number | undefined,
): Promise<DeadRow[]> {
  async function shardRows(shard: number): Promise<DeadRow[]> {
    const rows: DeadRow[] = [];
    let after: string | undefined;
    do {
      const page = await views.listDead({
        shard,
        limit: PAGE,
        ...(since !== undefined && { since }),
        ...(after !== undefined && { after }),
      });
      rows.push(...page.rows);
      after = page.next;
    } while (after !== undefined);
    return rows;
  }
  const shards = await Promise.all(Array.from({ length: DEAD_SHARDS }, (_, shard) => shardRows(shard)));
  return shards.flat().sort((left, right) => right.lastAt - left.lastAt);
}

/** The pool that a row belongs to; undefined: nobody handles its type any more. */
export const poolOfRow =
  (sources: readonly Source[]) =>
  (row: DeadRow): string | undefined =>
    row.kind === 'message' ? row.pool : sources.find(({ types }) => types.includes(row.type))?.name;

/** Whether a row is one of those that were asked for. */
export const isMeant = (
  row: DeadRow,
  filter: LetterFilter & { readonly pool?: string },
  pool: string | undefined,
): boolean => {
  const task = row.kind === 'task' ? row : undefined;
  return (
    equal(filter.pool, pool) &&
    equal(filter.reason, row.reason) &&
    equal(filter.run, task?.runId) &&
    equal(filter.task, task?.taskId) &&
    equal(filter.type, task?.type) &&
    equal(filter.tenant, task?.tenant) &&
    equal(filter.workflow, task?.workflow) &&
    equal(filter.fingerprint, task?.fingerprint) &&
    equal(filter.message, row.kind === 'message' ? row.messageId : undefined) &&
    (filter.since === undefined || row.lastAt >= filter.since)
  );
};

/** Rows of one cause. */
export interface DeadGroup {
  /** Undefined for messages of no task. */
  readonly fingerprint?: string;
  readonly reasons: readonly string[];
  readonly count: number;
  /** ISO 8601. */
  readonly firstAt: string;
  readonly lastAt: string;
  readonly pools: readonly string[];
  readonly tenants: readonly string[];
  readonly error?: string;
  /** Of the newest. */
  readonly message?: string;
  /** Task or message id of the newest. */
  readonly newest: string;
}

export const idOf = (row: DeadRow): string => (row.kind === 'task' ? row.taskId : row.messageId);
const iso = (time: number): string => new Date(time).toISOString();
const distinct = (texts: readonly (string | undefined)[]): string[] =>
  [...new Set(texts.filter((text) => text !== undefined))].sort();

/** The largest first. One fingerprint is one cause; what has none goes by its reason. */
export function grouped(
  rows: readonly DeadRow[],
  pool: (row: DeadRow) => string | undefined,
): readonly DeadGroup[] {
  const causeOf = (row: DeadRow): string =>
    (row.kind === 'task' && row.fingerprint) || `reason ${row.reason}`;
  return [...Map.groupBy(rows, causeOf).values()]
    .map((some): DeadGroup => {
      const newest = some.reduce((one, other) => (other.lastAt > one.lastAt ? other : one));
      const { fingerprint, error, message } = newest.kind === 'task' ? newest : { message: newest.problem };
      return {
        ...(fingerprint !== undefined && { fingerprint }),
        reasons: distinct(some.map(({ reason }) => reason)),
        count: some.length,
        firstAt: iso(Math.min(...some.map(({ firstAt }) => firstAt))),
        lastAt: iso(newest.lastAt),
        pools: distinct(some.map(pool)),
        tenants: distinct(some.map((row) => (row.kind === 'task' ? row.tenant : undefined))),
        ...(error !== undefined && { error }),
        ...(message !== undefined && { message }),
        newest: idOf(newest),
      };
    })
    .sort((left, right) => right.count - left.count || (left.lastAt < right.lastAt ? 1 : -1));
}
