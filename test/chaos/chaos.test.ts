/**
 * Chaos on the deployed stack: failing handlers, doubled messages, workers killed between effect and commit, poison;
 * then the fix and a replay. `npm run chaos`: 125 orders (500 tasks), by itself, on a machine that does nothing else.
 */
import { ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { expect, test } from 'vitest';
import { taskIdOf } from '#core/items.ts';
import { doubleMessages, planFaults, tally } from '#test/cloud/chaos.ts';
import { anOrder } from '#test/cloud/orders.ts';
import { suite } from '#test/cloud/suite.ts';
import { until } from '#test/cloud/until.ts';

const { system, books, queues, stub, started } = suite();
const ORDERS = Number(process.env['EDOW_CHAOS_ORDERS'] ?? 50);
const SEED = process.env['EDOW_CHAOS_SEED'] ?? 'edow';
const LANES = 8;
/** A killed worker's messages come back after their visibility time-out of 60 s; batches may be hit more than once. */
const BOUND_MS = 900_000;

async function inDlq(): Promise<{ task: string; body: string; handle: string }[]> {
  const found = new Map<string, { task: string; body: string; handle: string }>();
  const { sqs } = system;
  const QueueUrl = queues('shipping').urls.dlqUrl;
  for (;;) {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, VisibilityTimeout: 20 }),
    );
    if (Messages.length === 0) return [...found.values()];
    for (const { Body = '', MessageId = '', ReceiptHandle = '' } of Messages)
      found.set(MessageId, { task: JSON.parse(Body).id, body: Body, handle: ReceiptHandle });
  }
}

test(`${ORDERS} orders in trouble: every effect once, only the poison is dead, and a replay heals it`, {
  timeout: BOUND_MS + 120_000,
}, async () => {
  const orders = Array.from({ length: ORDERS }, () => anOrder('chaos'));
  const planned = await planFaults(
    stub,
    orders.map(({ orderId }) => orderId),
    SEED,
  );
  expect(planned.failing).toBeGreaterThan(0);
  expect(planned.crashed).toBeGreaterThan(0);
  expect(planned.poisoned.length).toBeGreaterThan(0);
  const doubler = await doubleMessages(system, SEED);
  const runs: { runId: string; poisoned: boolean; orderId: string }[] = [];
  try {
    const left = [...orders];
    const lane = async (): Promise<void> => {
      for (let order = left.shift(); order; order = left.shift()) {
        const { orderId } = order;
        runs.push({ runId: await started(order), poisoned: planned.poisoned.includes(orderId), orderId });
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    const open = new Set(runs);
    await until(
      'healthy runs have succeeded and poisoned ones are held',
      async () => {
        for (const run of open) {
          const status = (await books.run(run.runId))?.status;
          if (status !== (run.poisoned ? 'held' : 'succeeded')) return undefined;
          open.delete(run);
        }
        return true;
      },
      { withinMs: BOUND_MS, everyMs: 250 },
    );
  } finally {
    await doubler.stop();
  }
  expect(doubler.sent()).toBeGreaterThan(0);
  const healthy = runs.filter(({ poisoned }) => !poisoned);
  const poison = runs.filter(({ poisoned }) => poisoned);

  // Nothing but the poison is dead, and each has its reason on record.
  for (const name of Object.keys(system.queues)) await queues(name).work.empty({ withinMs: 180_000 });
  const dead = await until('the poison has reached its dead-letter queue', async () => {
    const letters = await inDlq();
    const tasks = new Set(letters.map(({ task }) => task));
    return poison.every(({ runId }) => tasks.has(taskIdOf(runId, 'ShipOrder'))) ? letters : undefined;
  });
  const mine = new Set(runs.map(({ runId }) => runId));
  const tasksDead = new Set(
    dead.map(({ task }) => task).filter((task) => mine.has(task.split('/')[0] ?? '')),
  );
  expect([...tasksDead].sort()).toEqual(poison.map(({ runId }) => taskIdOf(runId, 'ShipOrder')).sort());
  for (const { runId } of poison) {
    const { run, step } = await books.partition(runId);
    expect(run.status).toBe('held');
    expect(step('ShipOrder')).toMatchObject({ status: 'dead', reason: 'permanent' });
    expect(step('ShipOrder').failure?.message).toContain('refuses');
  }
  for (const name of ['inventory', 'payment', 'notification']) await queues(name).dead.empty();
  const before = await tally(stub, [
    ...healthy.map(({ runId }) => ({ runId, without: [] })),
    ...poison.map(({ runId }) => ({ runId, without: ['ShipOrder', 'NotifyCustomer'] as const })),
  ]);
  expect(before.wrong).toEqual([]);

  // The fix and the replay.
  for (const { orderId } of poison) await stub.mend('ShipOrder', orderId);
  const { work, dead: letters } = queues('shipping');
  for (const { task, body, handle } of dead) {
    if (!tasksDead.has(task)) continue;
    await work.send(body, 1);
    await letters.remove({ ReceiptHandle: handle });
  }
  for (const { runId } of poison) await books.runIs(runId, 'succeeded', { withinMs: 300_000 });
  for (const { runId } of poison) expect((await books.run(runId))?.execution).toBeGreaterThan(1);
  const after = await tally(
    stub,
    runs.map(({ runId }) => ({ runId, without: [] })),
  );
  expect(after.wrong).toEqual([]);
  expect(after.effects).toBe(ORDERS * 4);
  for (const name of Object.keys(system.queues)) {
    await queues(name).work.empty({ withinMs: 180_000 });
    await queues(name).dead.empty();
  }
  console.log(
    [
      `${ORDERS} orders (${ORDERS * 4} tasks) on ${system.target.name}, seed ${SEED}`,
      `trouble: ${planned.failing} handlers failing once, ${planned.crashed} workers killed after their effect, ${doubler.sent()} messages doubled, ${poison.length} orders poisoned`,
      `downstream: ${after.calls} calls, ${after.effects} effects; ${after.effects - before.effects} of them after the replay`,
    ].join('\n  '),
  );
});
