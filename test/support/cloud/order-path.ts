/** An order whose payloads are too large for an item: poisoned, replayed and healed, shown and listed. */
import { UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { InvokeCommand } from '@aws-sdk/client-lambda';
import { toAttributes } from '#adapters/attribute-value.ts';
import type { DispatchRequest } from '#core/dispatch-request.ts';
import { stepItemKey, taskIdOf } from '#core/items.ts';
import { notifyCustomer } from '#workflows/order/contract.ts';
import { api } from './api.ts';
import type { Deployed } from './deployed.ts';
import { anOrder, freshId, type Order, type StepKey } from './orders.ts';
import { ownBooks } from './own-books.ts';
import { queue } from './queue.ts';
import { stubBooks } from './stub-books.ts';
import { until } from './until.ts';
import type { Pace } from './whole-path.ts';

/**
 * An order of 100 lines: over 8 KB, so that its run keeps it in the bucket, and over 32 KB as a command. Escaped
 * characters make six bytes of one.
 */
export const largeOrder = (what = 'large'): Order =>
  anOrder(what, {
    lines: Array.from({ length: 100 }, (_, n) => ({
      sku: `${n}`.padEnd(64, '\u0001'),
      quantity: 1,
      unitPriceCents: 100,
    })),
  });

/** What has to be in the end, event by event. */
const TOLD = [
  'edow.run.started',
  'edow.run.held',
  'edow.task.failed',
  'edow.run.resumed',
  'shipping.parcel.shipped',
];

export function orderPath(system: Deployed) {
  const { dynamo, lambda, stateTable } = system;
  const http = api(system);
  const books = ownBooks(system);
  const stub = stubBooks(system);
  const shipping = system.queues['shipping'];
  const work = queue(system, shipping?.queueUrl ?? '');
  const dead = queue(system, shipping?.dlqUrl ?? '');

  /** By way of the dead letters. Asked for twice under one key. */
  async function healed(pace: Pace, flaky: readonly StepKey[]): Promise<string> {
    const order = largeOrder();
    const key = freshId('key');
    for (const step of flaky) await stub.plan(step, order.orderId, { fails: 1, kind: 'error' });
    await stub.plan('ShipOrder', order.orderId, { fails: -1, kind: 'permanent' });
    const { status, body } = await http.start('order', key, order);
    if (status !== 202) throw new Error(`the API answered ${status} to an order`);
    const runId = body.id;
    const again = await http.start('order', key, order);
    if (again.status !== 202 || again.body.id !== runId)
      throw new Error(`the API answered ${again.status} to the same order`);
    await books.runIs(runId, 'held', pace);
    const task = taskIdOf(runId, 'ShipOrder');
    const letter = await dead.received(({ Body }) => Body?.includes(`"${task}"`) ?? false, pace);
    await dead.remove(letter);
    await stub.mend('ShipOrder', order.orderId);
    await work.send(letter.Body ?? '', 1);
    await books.runIs(runId, 'succeeded', pace);
    return runId;
  }

  async function shown(pace: Pace, runId: string): Promise<void> {
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
        return TOLD.every((type) => seen.includes(type)) || undefined;
      },
      pace,
    );
  }

  /** A call of dispatch that comes when the run has ended: its token is answered with a failure. */
  async function late(runId: string): Promise<void> {
    const { run, step } = await books.partition(runId);
    const { token, stepKey, timeoutSeconds, input } = step('NotifyCustomer');
    const { type, version, retry } = notifyCustomer;
    const request: DispatchRequest = {
      token,
      runId,
      workflow: run.workflow,
      execution: run.execution,
      redrive: 0,
      entry: 1,
      entered: new Date().toISOString(),
      step: stepKey,
      task: { type, version, tries: retry.tries },
      timeoutSeconds,
      input: JSON.parse(input),
    };
    const { FunctionError } = await lambda.send(
      new InvokeCommand({ FunctionName: system.functions['dispatch'], Payload: JSON.stringify(request) }),
    );
    if (FunctionError) throw new Error(`dispatch threw: ${FunctionError}`);
  }

  /** @param flaky steps whose tasks fail once before they succeed */
  return async (pace: Pace, flaky: readonly StepKey[] = []): Promise<void> => {
    const runId = await healed(pace, flaky);
    await shown(pace, runId);
    await late(runId);
  };
}
