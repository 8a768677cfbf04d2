/** A hundred orders at once: all succeed, and the downstream's own books know of one effect each. */
import { type AttributeValue, ScanCommand } from '@aws-sdk/client-dynamodb';
import { expect, test } from 'vitest';
import { callKey } from '#adapters/downstream-stub.ts';
import { taskIdOf } from '#core/items.ts';
import { lanes } from '#core/lanes.ts';
import { anOrder, STEPS } from '#test/cloud/orders.ts';
import { suite } from '#test/cloud/suite.ts';
import { until } from '#test/cloud/until.ts';

const { system, books, queues, started } = suite();
const ORDERS = 100;
/** Starts in flight at once: each more is one more cold process of every function on the way. */
const LANES = 4;
/** Takes 20 s on two idle cores. */
const BOUND_MS = 400_000;

/** All calls in the stub's books: `operation key` -> [calls, effects, taken]. */
async function bookedCalls(): Promise<Map<string, readonly number[]>> {
  const found = new Map<string, readonly number[]>();
  let from: Record<string, AttributeValue> | undefined;
  do {
    const { Items = [], LastEvaluatedKey } = await system.dynamo.send(
      new ScanCommand({
        TableName: system.stubTable,
        ConsistentRead: true,
        ...(from && { ExclusiveStartKey: from }),
      }),
    );
    for (const item of Items)
      found.set(
        `${item['PK']?.S} ${item['SK']?.S}`,
        ['calls', 'effects', 'taken'].map((name) => Number(item[name]?.N ?? 0)),
      );
    from = LastEvaluatedKey;
  } while (from);
  return found;
}

const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;

test(`${ORDERS} orders at once succeed, each effect exactly once`, {
  timeout: BOUND_MS + 60_000,
}, async () => {
  const begun = Date.now();
  const ids: string[] = [];
  const orders = Array.from({ length: ORDERS }, () => anOrder('load'));
  await lanes(orders, LANES, async (order) => void ids.push(await started(order)));
  const accepted = Date.now();
  expect(new Set(ids).size).toBe(ORDERS);

  const open = new Set(ids);
  await until(
    `all ${ORDERS} runs have ended`,
    async () => {
      for (const id of open) {
        const run = await books.run(id);
        if (run?.closedAt === undefined) return undefined;
        open.delete(id);
      }
      return true;
    },
    { withinMs: BOUND_MS, everyMs: 200 },
  );

  const took: number[] = [];
  let lastEnd = 0;
  for (const id of ids) {
    const { run, steps } = await books.partition(id);
    expect(run).toMatchObject({ status: 'succeeded', execution: 1 });
    expect(steps.map(({ status, fence }) => [status, fence])).toEqual(STEPS.map(() => ['done', 1]));
    took.push((run.closedAt ?? 0) - run.startedAt);
    lastEnd = Math.max(lastEnd, run.closedAt ?? 0);
  }
  const booked = await bookedCalls();
  const keys = ids.flatMap((id) =>
    STEPS.map(({ step, operation }) => `${callKey(operation, '').PK.S} ${taskIdOf(id, step)}`),
  );
  expect(keys).toHaveLength(ORDERS * STEPS.length);
  expect(keys.filter((key) => booked.get(key)?.join() !== '1,1,1')).toEqual([]);

  for (const name of Object.keys(system.queues)) await queues(name).work.empty();
  const sorted = took.toSorted((a, b) => a - b);
  const seconds = (lastEnd - begun) / 1000;
  console.log(
    [
      `${ORDERS} orders (${keys.length} tasks) on ${system.target.name}`,
      `accepted in ${((accepted - begun) / 1000).toFixed(1)} s, all ended after ${seconds.toFixed(1)} s`,
      `${(keys.length / seconds).toFixed(0)} tasks/s, ${(ORDERS / seconds).toFixed(1)} orders/s`,
      `end to end p50 ${(percentile(sorted, 0.5) / 1000).toFixed(2)} s, p95 ${(percentile(sorted, 0.95) / 1000).toFixed(2)} s, max ${(percentile(sorted, 1) / 1000).toFixed(2)} s`,
    ].join('\n  '),
  );
});
