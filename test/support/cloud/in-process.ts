/**
 * The deployed functions' own entry points, called in this process on tables, topics and queues of a cloud: what
 * Lambda, the stream and the pollers do is done by hand, so that every request of a function can be seen. The clients
 * are the functions' own: a test replaces their factories by watched ones.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { DescribeExecutionCommand, DescribeStateMachineCommand, type SFNClient } from '@aws-sdk/client-sfn';
import { toItem } from '#adapters/attribute-value.ts';
import { executionArn } from '#adapters/sfn.ts';
import type { DispatchRequest } from '#core/dispatch-request.ts';
import { type DeployedWorkflow, ENV } from '#core/env-names.ts';
import { runKey, stepItemKey } from '#core/items.ts';
import type { Item, Key } from '#core/store.ts';
import { createStateTable, createViewsTable } from '../cloud-tables.ts';
import { v2 } from '../http-fixtures.ts';
import { lambdaContext, sqsRecord } from '../pool-fixtures.ts';
import { streamRecord } from '../stream-fixtures.ts';
import type { Order } from './orders.ts';
import { until } from './until.ts';

/** What makes and reads things of the cloud, unwatched. */
export interface Hands {
  readonly sfn: SFNClient;
  readonly machine: (what: string, states: object) => Promise<string>;
  readonly queue: (what: string) => Promise<{ readonly url: string; readonly arn: string }>;
  readonly topic: (what: string) => Promise<string>;
  readonly subscribed: (topicArn: string, to: { url: string; arn: string }) => Promise<void>;
  readonly taken: <T>(
    from: { url: string; arn: string },
    wanted: (body: string) => T | undefined,
  ) => Promise<T>;
}

type Handler = (event: unknown, context: unknown) => Promise<unknown>;
/** Called around each call of a function, with its stage and, for steps, the step's key. */
export type Watch = <T>(stage: string, call: () => Promise<T>) => Promise<T>;

const POOLS: Readonly<Record<string, string>> = {
  'inventory.stock.reserve': 'inventory',
  'payment.card.charge': 'payment',
  'shipping.parcel.ship': 'shipping',
  'notification.customer.notify': 'notification',
};

/** The deployed states, whose calls of dispatch go to a queue instead. */
async function statesOf(sfn: SFNClient, stateMachineArn: string, queueUrl: string): Promise<object> {
  const { definition = '' } = await sfn.send(new DescribeStateMachineCommand({ stateMachineArn }));
  const { States, StartAt } = JSON.parse(definition) as {
    States: Record<string, Record<string, unknown>>;
    StartAt: string;
  };
  const changed = Object.entries(States).map(([name, state]) => {
    if (!String(state['Resource']).endsWith('lambda:invoke.waitForTaskToken')) return [name, state];
    const { Payload } = state['Arguments'] as { Payload: object };
    return [
      name,
      {
        ...state,
        Resource: 'arn:aws:states:::sqs:sendMessage.waitForTaskToken',
        Arguments: { QueueUrl: queueUrl, MessageBody: Payload },
      },
    ];
  });
  // The first state of the object is where a machine of the bench begins.
  return Object.fromEntries(changed.sort(([name]) => (name === StartAt ? -1 : 0)));
}

/** A downstream that takes everything and is not AWS. */
async function downstream(): Promise<{ url: string; close: () => void }> {
  const server = createServer((request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ id: request.url }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

/** @param machineArn of the deployed workflow, which is copied */
export async function inProcess(hands: Hands, machineArn: string, payloadBucket: string, watch: Watch) {
  const dynamo = new DynamoDBClient({});
  const [stateTable, viewsTable] = [await createStateTable(dynamo), await createViewsTable(dynamo)];
  const requests = await hands.queue('requests');
  const work = await hands.queue('work');
  const inbox = await hands.queue('inbox');
  const aside = await hands.queue('aside');
  // The projector is called directly: nothing waits for it.
  const unread = await hands.queue('unread');
  const [commands, events] = [await hands.topic('commands'), await hands.topic('events')];
  await hands.subscribed(commands, work);
  await hands.subscribed(events, inbox);
  const stateMachineArn = await hands.machine('order', await statesOf(hands.sfn, machineArn, requests.url));
  const outside = await downstream();
  const workflows: Record<string, DeployedWorkflow> = { order: { stateMachineArn, definition: 'copy' } };
  Object.assign(process.env, {
    [ENV.stateTable]: stateTable,
    [ENV.viewsTable]: viewsTable,
    [ENV.payloadBucket]: payloadBucket,
    [ENV.commandsTopic]: commands,
    [ENV.eventsTopic]: events,
    [ENV.workQueue]: work.url,
    [ENV.retryQueue]: aside.url,
    [ENV.projectQueue]: unread.url,
    [ENV.workQueues]: '{}',
    [ENV.deadLetterQueues]: '{}',
    [ENV.workflows]: JSON.stringify(workflows),
    [ENV.tenants]: '{}',
    [ENV.batchConcurrency]: '10',
    [ENV.downstreamUrl]: outside.url,
    [ENV.version]: 'in-process',
    [ENV.logLevel]: 'error',
  });
  const handlerOf = async (stage: string): Promise<Handler> =>
    ((await import(`../../../lambdas/${stage}.ts`)) as { handler: Handler }).handler;
  const handlers = new Map<string, Handler>();
  for (const stage of [
    'trigger',
    'dispatch',
    'collect',
    'relay',
    'project',
    'close',
    'sweep',
    ...Object.values(POOLS).map((pool) => `worker-${pool}`),
  ])
    handlers.set(stage, await handlerOf(stage));
  const call = (stage: string, event: unknown, shownAs = stage): Promise<unknown> =>
    watch(shownAs, async () => {
      const handler = handlers.get(stage);
      if (!handler) throw new Error(`no function ${stage}`);
      return handler(event, lambdaContext());
    });

  async function item({ PK, SK }: Key): Promise<Item | undefined> {
    const { Item: found } = await dynamo.send(
      new GetItemCommand({
        TableName: stateTable,
        Key: { PK: { S: PK }, SK: { S: SK } },
        ConsistentRead: true,
      }),
    );
    return found && toItem(found);
  }

  let sequence = 0;
  /** What the stream would do with a change of an item. */
  async function streamed(stages: readonly string[], before: Item | undefined, key: Key): Promise<Item> {
    const after = await item(key);
    if (!after) throw new Error(`no item ${key.PK} ${key.SK}`);
    sequence += 1;
    for (const stage of stages) await call(stage, { Records: [streamRecord(before, after, `${sequence}`)] });
    if (stages.includes('relay')) {
      const event = await hands.taken(inbox, (body) => body);
      await call('project', { Records: [sqsRecord(event)] });
    }
    return after;
  }

  /** One order, from its request to the close of its run. Returns its id. */
  async function order(input: Order, key: string): Promise<string> {
    const answer = (await call(
      'trigger',
      v2({ path: { name: 'order' }, headers: [['idempotency-key', key]], body: JSON.stringify(input) }),
    )) as { statusCode: number; body: string };
    if (answer.statusCode !== 202) throw new Error(`trigger answered ${answer.statusCode} ${answer.body}`);
    const { id } = JSON.parse(answer.body) as { id: string };
    let run = await streamed(['relay'], undefined, runKey(id));
    for (let step = 0; step < Object.keys(POOLS).length; step += 1) {
      const request = await hands.taken(requests, (body) => JSON.parse(body) as DispatchRequest);
      await call('dispatch', request);
      const command = await hands.taken(work, (body) => body);
      const stepKey = stepItemKey(id, request.step);
      const before = await item(stepKey);
      await call(`worker-${POOLS[request.task.type]}`, { Records: [sqsRecord(command)] }, 'worker');
      await streamed(['collect', 'relay'], before, stepKey);
    }
    const end = await until('the execution has ended', async () => {
      const now = await hands.sfn.send(
        new DescribeExecutionCommand({ executionArn: executionArn(stateMachineArn, id) }),
      );
      return now.status === 'RUNNING' ? undefined : now;
    });
    await call('close', { detail: { stateMachineArn, name: id, status: end.status, output: end.output } });
    run = await streamed(['relay'], run, runKey(id));
    if (run['status'] !== 'succeeded') throw new Error(`the run is ${run['status']}`);
    return id;
  }

  /** One call of the sweeper. @param shownAs what it found, as the watch is told */
  const sweep = (shownAs: string): Promise<unknown> => call('sweep', {}, shownAs);

  return { order, sweep, close: outside.close };
}
