/**
 * Everything that the deployed system does, once: an order whose payloads are too large for an item, poisoned, replayed
 * and healed, shown and listed; and a sweep over runs that fell through. Any grant that is missing stops it somewhere.
 */
import { PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { InvokeCommand } from '@aws-sdk/client-lambda';
import { toAttributes } from '#adapters/attribute-value.ts';
import { runKey, stepItemKey, taskIdOf } from '#core/items.ts';
import type { Item } from '#core/store.ts';
import { api } from './api.ts';
import type { Deployed } from './deployed.ts';
import { feedOf } from './feeds.ts';
import { anOrder, freshId, type Order, type StepKey } from './orders.ts';
import { ownBooks } from './own-books.ts';
import { queue } from './queue.ts';
import { stubBooks } from './stub-books.ts';
import { until } from './until.ts';

/**
 * An order of 100 lines: over 8 KB, so that its run keeps it in the bucket, and over 32 KB as a command. Escaped
 * characters make six bytes of one.
 */
const largeOrder = (): Order =>
  anOrder('large', {
    lines: Array.from({ length: 100 }, (_, n) => ({
      sku: `${n}`.padEnd(64, '\u0001'),
      quantity: 1,
      unitPriceCents: 100,
    })),
  });

export interface Pace {
  /** Longest wait for any one thing. */
  readonly withinMs: number;
}

export function wholePath(system: Deployed) {
  const { dynamo, lambda, stateTable } = system;
  const http = api(system);
  const books = ownBooks(system);
  const stub = stubBooks(system);
  const shipping = system.queues['shipping'];
  const work = queue(system, shipping?.queueUrl ?? '');
  const dead = queue(system, shipping?.dlqUrl ?? '');

  async function start(order: Order): Promise<string> {
    const { status, body } = await http.start('order', freshId('key'), order);
    if (status !== 202) throw new Error(`the API answered ${status} to an order`);
    return body.id;
  }

  /** From the door to the list of runs, by way of the dead letters; the tasks of `flaky` steps fail once before. */
  async function order(pace: Pace, flaky: readonly StepKey[] = []): Promise<void> {
    const poisoned = largeOrder();
    for (const step of flaky) await stub.plan(step, poisoned.orderId, { fails: 1, kind: 'error' });
    await stub.plan('ShipOrder', poisoned.orderId, { fails: -1, kind: 'permanent' });
    const runId = await start(poisoned);
    await books.runIs(runId, 'held', pace);
    const task = taskIdOf(runId, 'ShipOrder');
    const letter = await dead.received(({ Body }) => Body?.includes(`"${task}"`) ?? false, pace);
    await dead.remove(letter);
    await stub.mend('ShipOrder', poisoned.orderId);
    await work.send(letter.Body ?? '', 1);
    await books.runIs(runId, 'succeeded', pace);
    const { status, body } = await http.run(runId);
    if (status !== 200 || body.steps.length !== 4) throw new Error(`GET /runs/{id} answered ${status}`);
    // No reference task has a result that does not fit into its item: one is made.
    const { inputRef } = (await books.partition(runId)).run;
    await dynamo.send(
      new UpdateItemCommand({
        TableName: stateTable,
        Key: toAttributes({ ...stepItemKey(runId, 'NotifyCustomer') }),
        UpdateExpression: 'SET resultRef = :ref REMOVE #r',
        ExpressionAttributeNames: { '#r': 'result' },
        ExpressionAttributeValues: { ':ref': { S: inputRef ?? '' } },
      }),
    );
    const large = await http.run(runId);
    if (large.status !== 200) throw new Error(`GET /runs/{id} answered ${large.status} for a large result`);
    for (const query of ['?status=succeeded', '?workflow=order', ''])
      await until(
        `the run is listed by "${query}"`,
        async () => {
          const page = await http.runs(query);
          if (page.status !== 200) throw new Error(`GET /runs${query} answered ${page.status}`);
          return page.body.runs.find(({ id, status: now }) => id === runId && now === 'succeeded');
        },
        pace,
      );
    await until(
      'the timeline is whole',
      async () => {
        const seen = await books.timeline(runId);
        return (
          [
            'edow.run.started',
            'edow.run.held',
            'edow.task.failed',
            'edow.run.resumed',
            'shipping.parcel.shipped',
          ].every((type) => seen.includes(type)) || undefined
        );
      },
      pace,
    );
  }

  const set = (key: { PK: string; SK: string }, name: string, value: number) =>
    dynamo.send(
      new UpdateItemCommand({
        TableName: stateTable,
        Key: { PK: { S: key.PK }, SK: { S: key.SK } },
        UpdateExpression: 'SET #n = :v',
        ExpressionAttributeNames: { '#n': name },
        ExpressionAttributeValues: { ':v': { N: String(value) } },
      }),
    );

  async function sweepNow(): Promise<void> {
    const { FunctionError } = await lambda.send(
      new InvokeCommand({ FunctionName: system.functions['sweep'], Payload: '{}' }),
    );
    if (FunctionError) throw new Error(`the sweeper threw: ${FunctionError}`);
  }

  /** Runs that fell through: one never started, one whose command nobody met, one whose answer was lost. */
  async function sweep(pace: Pace): Promise<void> {
    const past = Date.now() - 600_000;
    // Accepted, and the trigger died before it started the execution.
    const model = await start(anOrder('model'));
    const run = await books.runIs(model, 'succeeded', pace);
    const lost = model.replace(/^.{10}/, run.runId.slice(0, 9) + (run.runId[9] === '0' ? '1' : '0'));
    const item = {
      ...run,
      ...runKey(lost),
      runId: lost,
      status: 'running',
      execution: 1,
      checkAt: past,
      openShard: 'OPEN#0',
    };
    const { closedAt: _closed, expiresAt: _expires, output: _output, ...open } = item;
    await dynamo.send(
      new PutItemCommand({ TableName: stateTable, Item: toAttributes(open as unknown as Item) }),
    );
    await sweepNow();
    await books.runIs(lost, 'succeeded', pace);

    // A command that no worker has met in ten minutes is sent once more, built anew from what is stored.
    const inventory = await feedOf(system, 'worker-inventory', ':sqs:');
    const collect = await feedOf(system, 'collect', '/stream/');
    const first = 'ReserveStock';
    await inventory(false);
    try {
      const unmet = await start(largeOrder());
      await until(
        'the first step is entered',
        async () => (await books.partition(unmet)).steps.find(({ stepKey }) => stepKey === first),
        pace,
      );
      const inbox = queue(system, system.queues['inventory']?.queueUrl ?? '');
      const copies = async (): Promise<number> => {
        let count = 0;
        await inbox.find(({ Body }) => {
          if (Body?.includes(unmet)) count += 1;
          return false; // shown again at once
        });
        return count;
      };
      await until('its command waits', async () => ((await copies()) > 0 ? true : undefined), pace);
      await set(stepItemKey(unmet, first), 'entered', past);
      await set(runKey(unmet), 'checkAt', past);
      await until(
        'the command was sent again',
        async () => {
          await sweepNow();
          const { republished = 0 } = (await books.partition(unmet)).step(first);
          return republished > 0 && (await copies()) > 1 ? true : undefined;
        },
        pace,
      );
      // The task is done while nobody collects: its answer is lost.
      await collect(false);
      await inventory(true);
      await until(
        'the first task is done',
        async () => ((await books.partition(unmet)).step(first).status === 'done' ? true : undefined),
        pace,
      );
      await set(stepItemKey(unmet, first), 'doneAt', past);
      await set(runKey(unmet), 'checkAt', past);
      await sweepNow();
      await until(
        'the lost answer was given',
        async () => (await books.partition(unmet)).steps.find(({ stepKey }) => stepKey === 'ChargePayment'),
        pace,
      );
      await collect(true);
      await books.runIs(unmet, 'succeeded', pace);
    } finally {
      await collect(true);
      await inventory(true);
    }
  }

  return { order, sweep };
}
