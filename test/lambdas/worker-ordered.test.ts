/** Field cases of FIFO queues at the entry point of an ordered pool: H06, and H25 on the FIFO path. */
import type { SQSRecord } from 'aws-lambda';
import { beforeEach, describe, expect, test } from 'vitest';
import { RetryAfterError } from '#core/errors.ts';
import { stepItemKey } from '#core/items.ts';
import {
  bodyOf,
  countingPool,
  enteredTask,
  lambdaContext,
  pass,
  printed,
  reported,
  runIdOf,
  sqsRecord,
  virtualTime,
} from '#test/pool-fixtures.ts';

const POOL = 'ledger';
const RUNS = [1, 2, 3, 4, 5];

/** As SQS hands out a message of a FIFO queue: with its group. */
const fifoRecord = (body: string, group: string, messageId: string, receives = 1): SQSRecord => {
  const record = sqsRecord(body, { messageId }, receives);
  return { ...record, attributes: { ...record.attributes, MessageGroupId: group } };
};

type Work = (n: number) => Promise<void> | void;

/** An ordered pool that notes which runs its downstream saw, and when each handler was at work. */
function orderedPool(work: Work = () => {}, concurrency = 10) {
  const seen: number[] = [];
  const spans: { readonly n: number; readonly from: number; until: number }[] = [];
  let ticks = 0;
  const numberOf = (key: string): number => RUNS.concat(6, 7, 8).find((n) => key.startsWith(runIdOf(n))) ?? 0;
  const pool = countingPool(
    async (key) => {
      const n = numberOf(key);
      seen.push(n);
      const span = { n, from: ticks++, until: Number.POSITIVE_INFINITY };
      spans.push(span);
      // Room for another lane to begin meanwhile.
      await new Promise((done) => setImmediate(done));
      try {
        await work(n);
      } finally {
        span.until = ticks++;
      }
    },
    { concurrency, ports: { pool: POOL } },
  );
  const effects = () => [...pool.effects].map(([key, count]) => [numberOf(key), count]);
  const bodies = new Map<number, string>();
  const enter = async (n: number, key: string): Promise<void> =>
    void bodies.set(n, bodyOf(await enteredTask(pool, n, { partitionkey: key })));
  const records = (key: string, ns: readonly number[], receives = 1): SQSRecord[] =>
    ns.map((n) => fifoRecord(bodies.get(n) ?? '', key, `m-${n}`, receives));
  const deliver = (batch: SQSRecord[]) => pool.handler({ Records: batch }, lambdaContext());
  return { ...pool, seen, spans, effects, enter, records, deliver };
}

const overlap = (a: { from: number; until: number }, b: { from: number; until: number }): boolean =>
  a.from < b.until && b.from < a.until;

beforeEach(virtualTime);

describe('H06 a failed record of a FIFO batch is overtaken by its followers', () => {
  test.each([1, 10])(
    'H06 with %i lanes: the group stops at the failure, and goes on in order',
    async (lanes) => {
      printed();
      let broken = true;
      const pool = orderedPool((n) => {
        if (n === 2 && broken) throw new Error('down');
      }, lanes);
      for (const n of RUNS) await pool.enter(n, 'key-1');

      const first = await pool.deliver(pool.records('key-1', RUNS));
      expect(pool.effects()).toEqual([[1, 1]]);
      expect(pool.seen).toEqual([1, 2]);
      expect(reported(first)).toEqual(['m-2', 'm-3', 'm-4', 'm-5']);

      broken = false;
      pass(60_000);
      const second = await pool.deliver(pool.records('key-1', [2, 3, 4, 5], 2));
      expect(reported(second)).toEqual([]);
      expect(pool.seen).toEqual([1, 2, 2, 3, 4, 5]);
      expect(pool.effects()).toEqual(RUNS.map((n) => [n, 1]));
    },
  );

  test('H06 the records that did not begin are no tries: their items are as they were', async () => {
    printed();
    const pool = orderedPool((n) => {
      if (n === 2) throw new Error('down');
    });
    for (const n of RUNS) await pool.enter(n, 'key-1');
    await pool.deliver(pool.records('key-1', RUNS));
    const steps = await Promise.all(RUNS.map((n) => pool.store.get(stepItemKey(runIdOf(n), 'Reserve'))));
    expect(steps.map((step) => [step?.['status'], step?.['tries'] ?? 0])).toEqual([
      ['done', 1],
      ['retrying', 1],
      ['ready', 0],
      ['ready', 0],
      ['ready', 0],
    ]);
  });

  test('H06 only the failed group of a batch stops', async () => {
    printed();
    const pool = orderedPool((n) => {
      if (n === 1) throw new Error('down');
    });
    for (const n of [1, 2, 3]) await pool.enter(n, 'key-1');
    for (const n of [4, 5]) await pool.enter(n, 'key-2');
    const [a, b, c] = pool.records('key-1', [1, 2, 3]);
    const [d, e] = pool.records('key-2', [4, 5]);
    const response = await pool.deliver([a, d, b, e, c] as SQSRecord[]);
    expect(reported(response)).toEqual(['m-1', 'm-2', 'm-3']);
    expect(pool.effects().sort()).toEqual([
      [4, 1],
      [5, 1],
    ]);
  });

  test('H06 one key is never in two hands at once, two keys are', async () => {
    printed();
    const pool = orderedPool();
    for (const n of [1, 2, 3]) await pool.enter(n, 'key-1');
    for (const n of [4, 5]) await pool.enter(n, 'key-2');
    await pool.deliver([...pool.records('key-1', [1, 2, 3]), ...pool.records('key-2', [4, 5])]);
    const ofFirst = pool.spans.filter(({ n }) => n <= 3);
    const ofSecond = pool.spans.filter(({ n }) => n > 3);
    expect([ofFirst.map(({ n }) => n), ofSecond.map(({ n }) => n)]).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
    for (const group of [ofFirst, ofSecond])
      for (const [index, one] of group.entries())
        for (const other of group.slice(index + 1)) expect(overlap(one, other)).toBe(false);
    // Else the test above says nothing: keys do run beside one another.
    expect(ofFirst.some((one) => ofSecond.some((other) => overlap(one, other)))).toBe(true);
  });
});

describe('H25 negative, fractional or huge delays on a FIFO queue', () => {
  // A FIFO queue refuses a delay for a single message; a wait is the visibility of the one that waits, and nothing else.
  test.each([-1, 0, 0.5, 7, 900, 901, 86_400, 1e12, Number.NaN, Number.POSITIVE_INFINITY])(
    'H25 a handler that asks for %s seconds: a whole and legal visibility, at least one second',
    async (seconds) => {
      printed();
      const pool = orderedPool(() => {
        throw new RetryAfterError('busy', seconds);
      });
      await pool.enter(1, 'key-1');
      const response = await pool.deliver(pool.records('key-1', [1]));
      expect(reported(response)).toEqual(['m-1']);
      expect(pool.visibility.changes).toHaveLength(1);
      expect(pool.visibility.changes[0]?.seconds).toSatisfy(
        (one: number) => Number.isInteger(one) && one >= 1 && one <= 42_000,
      );
    },
  );

  test('H25 those behind a wait come back at once, behind it: the group is hidden by its first message', async () => {
    printed();
    const pool = orderedPool((n) => {
      if (n === 1) throw new RetryAfterError('busy', 30);
    });
    for (const n of [1, 2]) await pool.enter(n, 'key-1');
    await pool.deliver(pool.records('key-1', [1, 2]));
    const [waits, follows] = pool.visibility.changes.map(({ seconds }) => seconds);
    expect(waits).toBeGreaterThanOrEqual(30);
    expect(follows).toBe(0);
    expect(pool.seen).toEqual([1]);
  });

  test('H25 tries of one task are at least a second apart, however soon its copies come', async () => {
    printed();
    const at: number[] = [];
    const pool = orderedPool(() => {
      at.push(Date.now());
      throw new Error('down');
    });
    await pool.enter(1, 'key-1');
    for (let receives = 1; receives <= 18; receives += 1) {
      await pool.deliver(pool.records('key-1', [1], receives));
      pass(400);
    }
    expect(at.length).toBeGreaterThan(1);
    for (const [index, time] of at.entries())
      if (index > 0) expect(time - (at[index - 1] ?? 0)).toBeGreaterThanOrEqual(1000);
  });
});
