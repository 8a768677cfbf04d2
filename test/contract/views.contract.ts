/** What every adapter of the read models does. */
import { beforeAll, describe, expect, test } from 'vitest';
import { DEAD_SHARDS, type DeadMessageRow, type DeadRow, type DeadTaskRow } from '#core/dead-rows.ts';
import type { RunListQuery, RunRow, TimelineEntry, Views } from '#core/ports.ts';

let cases = 0;
const freshTenant = (): string => `tenant-${Date.now().toString(36)}-${process.pid}-${cases++}`;

/** A run's row; its id sorts by `n`. */
const row = (tenant: string, n: number, more: Partial<RunRow> = {}): RunRow => ({
  tenant,
  runId: `01RUN${String(n).padStart(4, '0')}`,
  workflow: 'order',
  status: 'running',
  execution: 1,
  startedAt: 1_000 + n,
  updatedAt: 2_000 + n,
  seq: 1,
  ...more,
});

/** @param make views on an empty table; called once */
export function viewsContract(make: () => Promise<Views>): void {
  let views: Views;
  beforeAll(async () => {
    views = await make();
  });

  /** Follows the pages to the end. */
  async function listed(query: RunListQuery): Promise<{ rows: RunRow[]; pages: number }> {
    const rows: RunRow[] = [];
    let after: string | undefined;
    let pages = 0;
    do {
      const page = await views.listRuns({ ...query, ...(after !== undefined && { after }) });
      expect(page.rows.length).toBeLessThanOrEqual(query.limit);
      rows.push(...page.rows);
      after = page.next;
      pages++;
    } while (after !== undefined && pages < 100);
    return { rows, pages };
  }

  describe('run list', () => {
    test('shows the runs of one tenant, newest first, every field as it was put', async () => {
      const tenant = freshTenant();
      await views.putRunRow(row(tenant, 2, { status: 'held', execution: 3, seq: 7 }));
      await views.putRunRow(row(tenant, 1));
      await views.putRunRow(row(`${tenant}x`, 3));
      expect(await views.listRuns({ tenant, limit: 10 })).toEqual({
        rows: [row(tenant, 2, { status: 'held', execution: 3, seq: 7 }), row(tenant, 1)],
      });
    });

    test('a row gives way to a newer one only', async () => {
      const tenant = freshTenant();
      await views.putRunRow(row(tenant, 1, { seq: 5, status: 'running' }));
      await views.putRunRow(row(tenant, 1, { seq: 4, status: 'late' }));
      await views.putRunRow(row(tenant, 1, { seq: 5, status: 'again' }));
      expect((await listed({ tenant, limit: 10 })).rows).toEqual([row(tenant, 1, { seq: 5 })]);
      await views.putRunRow(row(tenant, 1, { seq: 6, status: 'succeeded' }));
      expect((await listed({ tenant, limit: 10 })).rows).toEqual([
        row(tenant, 1, { seq: 6, status: 'succeeded' }),
      ]);
      // It moved in the index: it is no longer among the running ones.
      expect((await listed({ tenant, status: 'running', limit: 10 })).rows).toEqual([]);
    });

    test('pages hold every run once, whatever is put between two of them', async () => {
      const tenant = freshTenant();
      for (let n = 1; n <= 7; n++) await views.putRunRow(row(tenant, n));
      const first = await views.listRuns({ tenant, limit: 3 });
      expect(first.rows.map(({ startedAt }) => startedAt)).toEqual([1_007, 1_006, 1_005]);
      await views.putRunRow(row(tenant, 8));
      const second = await views.listRuns({ tenant, limit: 3, after: first.next as string });
      expect(second.rows.map(({ startedAt }) => startedAt)).toEqual([1_004, 1_003, 1_002]);
      const third = await views.listRuns({ tenant, limit: 3, after: second.next as string });
      expect(third.rows.map(({ startedAt }) => startedAt)).toEqual([1_001]);
      expect(third).not.toHaveProperty('next');
    });

    test('filters by workflow, by status and by both', async () => {
      const tenant = freshTenant();
      for (let n = 0; n < 24; n++)
        await views.putRunRow(
          row(tenant, n, {
            workflow: n % 8 === 0 ? 'rare' : 'order',
            status: n % 2 === 0 ? 'held' : 'running',
          }),
        );
      const numbers = async (query: Omit<RunListQuery, 'tenant' | 'limit'>, limit: number) =>
        (await listed({ tenant, limit, ...query })).rows.map(({ startedAt }) => startedAt - 1_000);
      expect(await numbers({ workflow: 'rare' }, 2)).toEqual([16, 8, 0]);
      expect(await numbers({ status: 'held' }, 5)).toEqual([22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0]);
      expect(await numbers({ status: 'held', workflow: 'rare' }, 1)).toEqual([16, 8, 0]);
      expect(await numbers({ status: 'held', workflow: 'rare' }, 100)).toEqual([16, 8, 0]);
      expect(await numbers({ status: 'running', workflow: 'rare' }, 2)).toEqual([]);
      expect(await numbers({ workflow: 'none' }, 2)).toEqual([]);
    });

    test('a position of another tenant, or a made-up one, shows nothing of others', async () => {
      const [mine, theirs] = [freshTenant(), freshTenant()];
      for (let n = 1; n <= 3; n++) await views.putRunRow(row(theirs, n));
      await views.putRunRow(row(mine, 2));
      const position = (await views.listRuns({ tenant: theirs, limit: 1 })).next as string;
      expect((await views.listRuns({ tenant: mine, limit: 10, after: position })).rows).toEqual([
        row(mine, 2),
      ]);
      expect((await views.listRuns({ tenant: mine, limit: 10, after: '#~' })).rows).toEqual([]);
    });
  });

  describe('timeline', () => {
    const entry = (
      runId: string,
      second: number,
      more: { eventId?: string; detail?: string } = {},
    ): TimelineEntry => ({
      runId,
      time: `2026-11-01T12:00:${String(second).padStart(2, '0')}.000Z`,
      eventId: `${runId}/Reserve/0:${second}`,
      type: 'inventory.stock.reserved',
      source: `${runId}/Reserve/0`,
      expiresAt: 1_803_800_000,
      ...more,
    });

    test('holds what happened in one run, in the order of time, each event once', async () => {
      const runId = freshTenant();
      await views.addToTimeline(entry(runId, 20, { detail: 'second' }));
      await views.addToTimeline(entry(runId, 10));
      await views.addToTimeline(entry(runId, 20, { detail: 'second' }));
      await views.addToTimeline(entry(runId, 20, { eventId: 'twin' }));
      await views.addToTimeline(entry(`${runId}x`, 15));
      expect(await views.timeline(runId)).toEqual([
        entry(runId, 10),
        entry(runId, 20, { detail: 'second' }),
        entry(runId, 20, { eventId: 'twin' }),
      ]);
      expect(await views.timeline(`${runId}-none`)).toEqual([]);
    });
  });

  test('the row of one run, as it was last put', async () => {
    const tenant = freshTenant();
    await views.putRunRow(row(tenant, 1));
    await views.putRunRow(row(tenant, 1, { status: 'held', seq: 2 }));
    expect(await views.runRow(tenant, row(tenant, 1).runId)).toEqual(
      row(tenant, 1, { status: 'held', seq: 2 }),
    );
    expect(await views.runRow(`${tenant}x`, row(tenant, 1).runId)).toBeUndefined();
  });

  describe('dead letters', () => {
    const task = (run: string, step: string, more: Partial<DeadTaskRow> = {}): DeadTaskRow => ({
      kind: 'task',
      taskId: `${run}/${step}/0`,
      runId: run,
      step,
      tenant: 'acme',
      workflow: 'order',
      type: 'inventory.stock.reserve',
      reason: 'exhausted',
      class: 'retryable',
      error: 'Timeout',
      message: 'no answer',
      fingerprint: 'f00d',
      tries: 3,
      started: 5,
      workers: ['v1', 'v2'],
      version: 2,
      firstAt: 1_000,
      lastAt: 2_000,
      deaths: 2,
      replays: 1,
      seq: 2,
      expiresAt: 1_803_800_000,
      ...more,
    });
    const message = (messageId: string, more: Partial<DeadMessageRow> = {}): DeadMessageRow => ({
      kind: 'message',
      messageId,
      pool: 'shipping',
      reason: 'unreadable',
      problem: 'the body is not JSON',
      bytes: 7,
      hash: 'ab12',
      firstAt: 1_000,
      lastAt: 2_000,
      expiresAt: 1_803_800_000,
      ...more,
    });
    const idOf = (dead: DeadRow): string => (dead.kind === 'task' ? dead.taskId : dead.messageId);

    /** Open rows of all shards whose id holds this text, with the pages it took. */
    async function open(text: string, limit = 100, since?: number) {
      const rows: DeadRow[] = [];
      let pages = 0;
      for (let shard = 0; shard < DEAD_SHARDS; shard++) {
        let after: string | undefined;
        let sorted = Number.POSITIVE_INFINITY;
        do {
          const page = await views.listDead({
            shard,
            limit,
            ...(since !== undefined && { since }),
            ...(after !== undefined && { after }),
          });
          expect(page.rows.length).toBeLessThanOrEqual(limit);
          for (const one of page.rows) {
            expect(one.lastAt).toBeLessThanOrEqual(sorted);
            sorted = one.lastAt;
          }
          rows.push(...page.rows);
          after = page.next;
          pages++;
        } while (after !== undefined && pages < 1000);
      }
      return { rows: rows.filter((one) => idOf(one).includes(text)), pages };
    }

    test('a task and a message are listed, every field as it was put', async () => {
      const run = freshTenant();
      await views.putDead(task(run, 'Reserve'));
      await views.putDead(message(`${run}-m`));
      const { rows } = await open(run);
      expect(rows).toHaveLength(2);
      expect(rows).toEqual(expect.arrayContaining([task(run, 'Reserve'), message(`${run}-m`)]));
    });

    test('an older outcome, or the same again, changes nothing; a newer one does', async () => {
      const run = freshTenant();
      await views.putDead(task(run, 'Reserve'));
      await views.putDead(task(run, 'Reserve', { seq: 1, error: 'Late' }));
      await views.putDead(task(run, 'Reserve', { seq: 2, error: 'Again' }));
      expect(await views.deadOfRun(run)).toEqual([task(run, 'Reserve')]);
      await views.putDead(task(run, 'Reserve', { seq: 3, error: 'Newer', lastAt: 9_000 }));
      expect((await open(run)).rows).toEqual([
        task(run, 'Reserve', { seq: 3, error: 'Newer', lastAt: 9_000 }),
      ]);
    });

    test('a closed row is gone, and stays so for older outcomes that come late', async () => {
      const run = freshTenant();
      await views.putDead(task(run, 'Reserve'));
      await views.closeDead({
        runId: run,
        taskId: `${run}/Reserve/0`,
        seq: 1,
        expiresAt: 1_803_800_000,
      });
      expect(await views.deadOfRun(run)).toHaveLength(1);
      await views.closeDead({
        runId: run,
        taskId: `${run}/Reserve/0`,
        seq: 3,
        expiresAt: 1_803_800_000,
      });
      await views.putDead(task(run, 'Reserve'));
      expect((await open(run)).rows).toEqual([]);
      expect(await views.deadOfRun(run)).toEqual([]);
      // The outcome that closes it comes before the death.
      await views.closeDead({ runId: run, taskId: `${run}/Ship/0`, seq: 2, expiresAt: 1_803_800_000 });
      await views.putDead(task(run, 'Ship', { seq: 1 }));
      expect(await views.deadOfRun(run)).toEqual([]);
      await views.putDead(task(run, 'Ship', { seq: 3 }));
      expect(await views.deadOfRun(run)).toEqual([task(run, 'Ship', { seq: 3 })]);
    });

    test('a message keeps its first row, and does not come back once it is closed', async () => {
      const id = freshTenant();
      await views.putDead(message(id));
      await views.putDead(message(id, { lastAt: 5_000 }));
      expect(await views.deadMessage(id)).toEqual(message(id));
      await views.closeDeadMessage(id, 1_803_800_000);
      await views.putDead(message(id));
      expect(await views.deadMessage(id)).toBeUndefined();
      expect((await open(id)).rows).toEqual([]);
      expect(await views.deadMessage(`${id}-none`)).toBeUndefined();
    });

    test('pages hold every row once, newest death first, since a time', async () => {
      const run = freshTenant();
      for (let n = 0; n < 40; n++)
        await views.putDead(task(`${run}-${n}`, 'Reserve', { lastAt: 1_000_000 + (n % 5) * 1_000 }));
      const ids = (rows: readonly DeadRow[]) => rows.map(idOf).sort();
      const all = await open(run, 2);
      expect(new Set(ids(all.rows)).size).toBe(40);
      expect(all.rows).toHaveLength(40);
      expect(all.pages).toBeGreaterThan(DEAD_SHARDS);
      const late = await open(run, 3, 1_003_000);
      expect(late.rows).toHaveLength(16);
      expect(late.rows.every(({ lastAt }) => lastAt >= 1_003_000)).toBe(true);
    });
  });
}
