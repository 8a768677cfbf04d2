/** Orders in trouble, from their start to the replay that heals the last of them: chaos in its full and its small form. */
import { ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { expect } from 'vitest';
import { taskIdOf } from '#core/items.ts';
import { lanes } from '#core/lanes.ts';
import { doubleMessages, type FaultAt, planFaults, tally } from './chaos.ts';
import { edow } from './edow.ts';
import { anOrder } from './orders.ts';
import type { suite } from './suite.ts';
import { until } from './until.ts';

export interface ChaosOptions {
  readonly orders: number;
  /** The same seed makes the same trouble. */
  readonly seed: string;
  readonly faultAt: FaultAt;
  /** Share of commands that are sent twice. */
  readonly doubled: number;
  /** Until all runs have ended or are held, milliseconds. */
  readonly boundMs: number;
  /** Nobody else uses this cloud: its queues hold nothing but these orders. */
  readonly alone: boolean;
}

interface Letter {
  readonly task: string;
  readonly body: string;
  readonly handle: string;
}

/** Orders started at the same time. */
const LANES = 8;

const taskOf = (body: string): string => {
  try {
    return String((JSON.parse(body) as { id?: unknown }).id);
  } catch {
    return '';
  }
};

/** Runs all of it, expects what must hold, and returns lines to print. */
export async function ordersInTrouble(
  { system, books, queues, stub, started }: ReturnType<typeof suite>,
  options: ChaosOptions,
): Promise<string[]> {
  const pools = Object.keys(system.queues);

  async function inDlq(pool: string): Promise<Letter[]> {
    const found = new Map<string, Letter>();
    const QueueUrl = queues(pool).urls.dlqUrl;
    for (;;) {
      const { Messages = [] } = await system.sqs.send(
        new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, VisibilityTimeout: 20 }),
      );
      if (Messages.length === 0) return [...found.values()];
      for (const { Body = '', MessageId = '', ReceiptHandle = '' } of Messages)
        found.set(MessageId, { task: taskOf(Body), body: Body, handle: ReceiptHandle });
    }
  }

  const orders = Array.from({ length: options.orders }, () => anOrder('chaos'));
  const ids = orders.map(({ orderId }) => orderId);
  const planned = await planFaults(stub, ids, options.faultAt);
  expect(planned.failing).toBeGreaterThan(0);
  expect(planned.crashed).toBeGreaterThan(0);
  expect(planned.poisoned.length).toBeGreaterThan(0);
  const doubler = await doubleMessages(system, options.seed, options.doubled);
  const runs: { runId: string; poisoned: boolean; orderId: string }[] = [];
  try {
    await lanes(orders, LANES, async (order) => {
      const { orderId } = order;
      runs.push({ runId: await started(order), poisoned: planned.poisoned.includes(orderId), orderId });
    });
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
      { withinMs: options.boundMs, everyMs: 250 },
    );
  } finally {
    await doubler.stop();
  }
  expect(doubler.sent()).toBeGreaterThan(0);
  const healthy = runs.filter(({ poisoned }) => !poisoned);
  const poison = runs.filter(({ poisoned }) => poisoned);
  const mine = new Set(runs.map(({ runId }) => runId));
  const isMine = ({ task }: Letter): boolean => mine.has(task.split('/')[0] ?? '');

  // Nothing but the poison is dead, and each has its reason on record.
  for (const name of pools) await queues(name).work.empty({ withinMs: 180_000 });
  const dead = await until('the poison has reached its dead-letter queue', async () => {
    const letters = (await inDlq('shipping')).filter(isMine);
    const tasks = new Set(letters.map(({ task }) => task));
    return poison.every(({ runId }) => tasks.has(taskIdOf(runId, 'ShipOrder'))) ? letters : undefined;
  });
  expect([...new Set(dead.map(({ task }) => task))].sort()).toEqual(
    poison.map(({ runId }) => taskIdOf(runId, 'ShipOrder')).sort(),
  );
  // The operator's index of dead letters follows by seconds.
  const indexed = async (): Promise<string[]> => {
    const { result } = await edow('dlq', 'ls', '--all');
    const entries = result.entries as readonly { readonly taskId?: string; readonly reason: string }[];
    return entries
      .filter(({ taskId = '' }) => mine.has(taskId.split('/')[0] ?? ''))
      .map(({ taskId, reason }) => `${taskId} ${reason}`)
      .sort();
  };
  const inIndex = poison.map(({ runId }) => `${taskIdOf(runId, 'ShipOrder')} permanent`).sort();
  await until('all the poison is in the index', async () =>
    (await indexed()).length >= inIndex.length ? true : undefined,
  );
  expect(await indexed()).toEqual(inIndex);
  for (const { runId } of poison) {
    const { run, step } = await books.partition(runId);
    expect(run.status).toBe('held');
    expect(step('ShipOrder')).toMatchObject({ status: 'dead', reason: 'permanent' });
    expect(step('ShipOrder').failure?.message).toContain('refuses');
  }
  for (const name of ['inventory', 'payment', 'notification'])
    expect((await inDlq(name)).filter(isMine), name).toEqual([]);
  const before = await tally(stub, [
    ...healthy.map(({ runId }) => ({ runId, without: [] })),
    ...poison.map(({ runId }) => ({ runId, without: ['ShipOrder', 'NotifyCustomer'] as const })),
  ]);
  expect(before.wrong).toEqual([]);
  // A killed worker's call took effect, and was asked again.
  expect(before.calls).toBeGreaterThan(before.effects);

  // The fix and the replay.
  for (const { orderId } of poison) await stub.mend('ShipOrder', orderId);
  const { work, dead: letters } = queues('shipping');
  for (const { body, handle } of dead) {
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
  expect(after.effects).toBe(options.orders * 4);
  await until('the index is empty', async () => ((await indexed()).length === 0 ? true : undefined));
  for (const name of pools) {
    await queues(name).work.empty({ withinMs: 180_000 });
    if (options.alone) await queues(name).dead.empty();
    else expect((await inDlq(name)).filter(isMine), name).toEqual([]);
  }
  return [
    `${options.orders} orders (${options.orders * 4} tasks) on ${system.target.name}, seed ${options.seed}`,
    `trouble: ${planned.failing} handlers failing once, ${planned.crashed} workers killed after their effect, ${doubler.sent()} messages doubled, ${poison.length} orders poisoned`,
    `downstream: ${after.calls} calls, ${after.effects} effects; ${after.effects - before.effects} of them after the replay`,
  ];
}
