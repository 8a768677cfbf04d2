/**
 * What fell through, and the sweeper mends: a run that was never started, a command that nobody met, answers that were
 * lost, an event that was lost, a dead letter of no task.
 */
import {
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { InvokeCommand } from '@aws-sdk/client-lambda';
import { toAttributes } from '#adapters/attribute-value.ts';
import { deadMessageKey, timelineKey } from '#adapters/view-items.ts';
import { runKey, stepItemKey, taskIdOf } from '#core/items.ts';
import { RUN_EVENTS, runOutbox } from '#core/run-changes.ts';
import type { Item } from '#core/store.ts';
import { api } from './api.ts';
import type { Deployed } from './deployed.ts';
import { feedOf } from './feeds.ts';
import { largeOrder } from './order-path.ts';
import { anOrder, freshId, type Order } from './orders.ts';
import { ownBooks } from './own-books.ts';
import { queue } from './queue.ts';
import { stubBooks } from './stub-books.ts';
import { until } from './until.ts';
import type { Pace } from './whole-path.ts';

const FIRST = 'ReserveStock';

export function sweepPath(system: Deployed) {
  const { dynamo, lambda, stateTable, viewsTable } = system;
  const http = api(system);
  const books = ownBooks(system);
  const stub = stubBooks(system);
  const inventoryUrls = system.queues['inventory'];
  const inbox = queue(system, inventoryUrls?.queueUrl ?? '');
  const dead = queue(system, inventoryUrls?.dlqUrl ?? '');
  const longAgo = (): number => Date.now() - 600_000;

  async function start(order: Order): Promise<string> {
    const { status, body } = await http.start('order', freshId('key'), order);
    if (status !== 202) throw new Error(`the API answered ${status} to an order`);
    return body.id;
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

  /** Accepted ten minutes ago, and the trigger died before it started the execution. */
  async function neverStarted(pace: Pace): Promise<string> {
    const { run } = await books.partition(await start(anOrder('model')));
    await books.runIs(run.runId, 'succeeded', pace);
    const runId = run.runId.replace(/^.{10}/, run.runId.slice(0, 9) + (run.runId[9] === '0' ? '1' : '0'));
    const accepted = { ...run, ...runKey(runId), runId, startedAt: longAgo(), checkAt: longAgo() };
    const outbox = runOutbox(accepted, RUN_EVENTS.started, {}, longAgo());
    const item = toAttributes({ ...accepted, outbox } as unknown as Item);
    await dynamo.send(new PutItemCommand({ TableName: stateTable, Item: item }));
    await sweepNow();
    await books.runIs(runId, 'succeeded', pace);
    return runId;
  }

  /** Its oldest event has not reached the timeline. */
  async function untold(pace: Pace, runId: string): Promise<void> {
    const query = new QueryCommand({
      TableName: viewsTable,
      KeyConditionExpression: 'PK = :pk',
      FilterExpression: '#t = :started',
      ExpressionAttributeNames: { '#t': 'type' },
      ExpressionAttributeValues: {
        ':pk': { S: timelineKey(runId) },
        ':started': { S: RUN_EVENTS.started },
      },
      ConsistentRead: true,
    });
    const started = async () => (await dynamo.send(query)).Items?.[0];
    const { PK, SK } = await until('its start was told', started, pace);
    if (PK === undefined || SK === undefined) throw new Error('an entry of a timeline has no key');
    await dynamo.send(new DeleteItemCommand({ TableName: viewsTable, Key: { PK, SK } }));
    await set(runKey(runId), 'checkAt', longAgo());
    await sweepNow();
    await until('its start was told again', started, pace);
  }

  /** A letter that names a task which is not on record: it gets its reason, and is seen by others at once. */
  async function strangeLetter(pace: Pace, command: string, runId: string): Promise<void> {
    const messageId = await dead.send(command.replaceAll(runId, '01JZZZZZZZZZZZZZZZZZZZZZZZ'));
    const { PK, SK } = deadMessageKey(messageId);
    await until(
      'the letter has its reason',
      async () => {
        await sweepNow();
        const { Item: row } = await dynamo.send(
          new GetItemCommand({ TableName: viewsTable, Key: { PK: { S: PK }, SK: { S: SK } } }),
        );
        return row;
      },
      pace,
    );
    const letter = await dead.received(({ MessageId }) => MessageId === messageId, pace);
    await dead.remove(letter);
  }

  /**
   * A command that no worker has met in ten minutes is sent once more, built anew from what is stored.
   * @returns its text
   */
  async function metByNobody(pace: Pace, runId: string): Promise<string> {
    let command = '';
    const copies = async (): Promise<number> => {
      let count = 0;
      await inbox.find(({ Body }) => {
        if (!Body?.includes(runId)) return false;
        command = Body;
        count += 1;
        return false; // shown again at once
      });
      return count;
    };
    await until('its command waits', async () => ((await copies()) > 0 ? true : undefined), pace);
    await set(stepItemKey(runId, FIRST), 'entered', longAgo());
    await set(runKey(runId), 'checkAt', longAgo());
    await until(
      'the command was sent again',
      async () => {
        await sweepNow();
        const { republished = 0 } = (await books.partition(runId)).step(FIRST);
        return republished > 0 && (await copies()) > 1 ? true : undefined;
      },
      pace,
    );
    return command;
  }

  const endsAs = (pace: Pace, runId: string, status: 'done' | 'dead') =>
    until(
      `the first task is ${status}`,
      async () => ((await books.partition(runId)).step(FIRST).status === status ? true : undefined),
      pace,
    );

  /** Nobody collected what became of the first tasks of these runs. */
  async function unanswered(pace: Pace, done: string, died: string): Promise<void> {
    await set(stepItemKey(done, FIRST), 'doneAt', longAgo());
    await set(stepItemKey(died, FIRST), 'deadAt', longAgo());
    for (const runId of [done, died]) await set(runKey(runId), 'checkAt', longAgo());
    await sweepNow();
    await until(
      'the lost answer was given',
      async () => (await books.partition(done)).steps.find(({ stepKey }) => stepKey === 'ChargePayment'),
      pace,
    );
    await books.runIs(died, 'held', pace);
  }

  return async (pace: Pace): Promise<void> => {
    await untold(pace, await neverStarted(pace));
    const inventory = await feedOf(system, 'worker-inventory', ':sqs:');
    const collect = await feedOf(system, 'collect', '/stream/');
    const refused = anOrder('dying');
    await stub.plan(FIRST, refused.orderId, { fails: -1, kind: 'permanent' });
    await inventory(false);
    try {
      const unmet = await start(largeOrder('unmet'));
      const command = await metByNobody(pace, unmet);
      await strangeLetter(pace, command, unmet);
      const dying = await start(refused);
      await collect(false);
      await inventory(true);
      await endsAs(pace, unmet, 'done');
      await endsAs(pace, dying, 'dead');
      await unanswered(pace, unmet, dying);
      await collect(true);
      await books.runIs(unmet, 'succeeded', pace);
      const letter = await dead.received(
        ({ Body }) => Body?.includes(`"${taskIdOf(dying, FIRST)}"`) ?? false,
        pace,
      );
      await dead.remove(letter);
      await stub.mend(FIRST, refused.orderId);
      await inbox.send(letter.Body ?? '', 1);
      await books.runIs(dying, 'succeeded', pace);
    } finally {
      await collect(true);
      await inventory(true);
    }
  };
}
