/**
 * What a task costs does not depend on how many there are: the real entry points with warm processes and full batches,
 * over metered ports in memory, for 100 and for 1,000 orders of four tasks. test/emulator/meter.test.ts pins what one
 * order costs on a cloud.
 */
import type { PublishBatchCommand, SNSClient } from '@aws-sdk/client-sns';
import type { DynamoDBRecord } from 'aws-lambda';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { snsCommands, snsEvents } from '#adapters/sns-publisher.ts';
import { systemClock } from '#adapters/system.ts';
import { handle } from '#core/contract.ts';
import { ENV } from '#core/env-names.ts';
import { fromInput, fromStep, type Mapping } from '#core/mapping.ts';
import { absent, all, to, type Update } from '#core/store.ts';
import { closeEntry } from '#runtime/close-entry.ts';
import { dispatchEntry } from '#runtime/dispatch-entry.ts';
import { workerPool } from '#runtime/worker-pool.ts';
import { aDispatch, DEPLOYED } from '#test/examples.ts';
import { apiOn, bodyIn, echoTask, httpApi, startRequest, v2 } from '#test/http-fixtures.ts';
import { seededIds } from '#test/memory/determinate.ts';
import { memoryAnswers, memoryExecutions } from '#test/memory/state-machines.ts';
import { memoryStore } from '#test/memory/store.ts';
import { memoryViews } from '#test/memory/views.ts';
import { counts, type Metered, meteredPort, meteredStore, newMeter } from '#test/metered.ts';
import {
  lambdaContext,
  pass,
  poolPorts,
  type QueueHandler,
  reported,
  sqsRecord,
  virtualTime,
} from '#test/pool-fixtures.ts';
import { collectOn, projectOn, relayOn, streamRecord } from '#test/stream-fixtures.ts';

beforeEach(virtualTime);

const STEPS: readonly [string, Mapping][] = [
  ['Reserve', fromInput()],
  ['Charge', fromStep('Reserve')],
  ['Ship', fromStep('Charge')],
  ['Notify', fromStep('Ship')],
];
const QUEUE_BATCH = 10;
const STREAM_BATCH = 100;

const cut = <T>(all: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, n) => all.slice(n * size, (n + 1) * size));

/** Takes every batch of the real publisher. */
function topic(meter: Metered, taken: string[]) {
  const send = async ({ input }: PublishBatchCommand) => {
    counts(meter, 'SNS.PublishBatch');
    taken.push(...(input.PublishBatchRequestEntries ?? []).map(({ Message = '' }) => Message));
    return {};
  };
  return { client: { send } as unknown as SNSClient, topicArn: 'arn', ids: { random: () => 0 } };
}

/** So many orders through every stage, one wave a step, in batches as full as the mappings make them. */
async function metered(orders: number): Promise<Metered> {
  const meter = newMeter();
  const records: DynamoDBRecord[] = [];
  const memory = memoryStore({
    onChange: (before, after) => void records.push(streamRecord(before, after, String(records.length))),
  });
  const store = meteredStore(memory, meter);
  const executions = meteredPort(memoryExecutions(), meter, { start: 'SFN.StartExecution' });
  const open = memoryAnswers();
  const answers = meteredPort(open, meter, { succeed: 'SFN.SendTaskSuccess', fail: 'SFN.SendTaskFailure' });
  const views = meteredPort(memoryViews(), meter, {
    putRunRow: 'DynamoDB.PutItem',
    addToTimeline: 'DynamoDB.PutItem',
    closeDead: 'DynamoDB.PutItem',
    runRow: 'DynamoDB.GetItem',
    deadOfRun: 'DynamoDB.Query',
  });
  const [commands, events]: [string[], string[]] = [[], []];
  const ports = { ...poolPorts(), store, executions, answers, ids: seededIds(systemClock, 'flat') };

  const api = apiOn({ ...httpApi(), ...ports });
  const dispatch = dispatchEntry({ ...ports, commands: snsCommands(topic(meter, commands)) });
  const worker = workerPool(ports, [handle(echoTask, async (input) => input)]) as unknown as QueueHandler;
  const collect = collectOn({ store: { ...memory, ...store }, answers: { ...open, ...answers } });
  const relay = relayOn(snsEvents(topic(meter, events)));
  const project = projectOn(views);
  const close = closeEntry({ ...ports, deployment: 'state' });

  /** What the stream does with all that has changed. */
  async function streamed(): Promise<void> {
    const changes = records.splice(0).filter(({ dynamodb }) => {
      const [before, after] = [dynamodb?.OldImage, dynamodb?.NewImage];
      if (dynamodb?.Keys?.['SK']?.S === 'RUN') return after?.['outbox'] !== undefined;
      return after?.['status']?.S === 'done' && before?.['status']?.S !== 'done';
    });
    for (const batch of cut(changes, STREAM_BATCH)) {
      expect(await relay.stream(batch)).toEqual([]);
      const steps = batch.filter(({ dynamodb }) => dynamodb?.Keys?.['SK']?.S !== 'RUN');
      expect(await collect.stream(steps)).toEqual([]);
    }
    for (const batch of cut(events.splice(0), QUEUE_BATCH)) {
      const Records = batch.map((body) => sqsRecord(body));
      expect(reported(await project.handler({ Records }, lambdaContext()))).toEqual([]);
    }
  }

  const runIds: string[] = [];
  for (let n = 0; n < orders; n += 1) {
    const accepted = await api.trigger(v2(startRequest({ orderId: `o-${n}`, lines: [1, 2, 3] }, `key-${n}`)));
    runIds.push(String(bodyIn(accepted)['id']));
  }
  await streamed();
  for (const [step, input] of STEPS) {
    pass(1000);
    for (const runId of runIds) {
      const token = `${runId} ${step}`;
      open.open(token);
      const { type, version, retry } = echoTask;
      const task = { type, version, tries: retry.tries };
      const entered = new Date().toISOString();
      const request = aDispatch({ runId, token, input, workflow: 'echo', step, entered, task });
      await dispatch(request, lambdaContext() as never);
    }
    for (const batch of cut(commands.splice(0), QUEUE_BATCH)) {
      const Records = batch.map((body) => sqsRecord(body));
      expect(reported(await worker({ Records }, lambdaContext()))).toEqual([]);
    }
    await streamed();
  }
  for (const name of runIds) {
    const detail = { stateMachineArn: DEPLOYED.stateMachineArn, name, status: 'SUCCEEDED', output: '{}' };
    await close({ detail } as never, lambdaContext() as never);
  }
  await streamed();
  const ended = memory.items().filter(({ SK, status }) => SK === 'RUN' && status === 'succeeded');
  expect([ended.length, open.accepted.length]).toEqual([orders, orders * STEPS.length]);
  return meter;
}

const perTask = (meter: Metered, orders: number): ReadonlyMap<string, number> =>
  new Map(
    [...meter.calls, ['read units', meter.readUnits] as const, ['write units', meter.writeUnits] as const]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, number]) => [name, number / orders / STEPS.length]),
  );

test('requests and units of a task are flat within 2 % from 100 to 1,000 orders', {
  timeout: 90_000,
}, async () => {
  vi.stubEnv(ENV.logLevel, 'error');
  onTestFinished(() => void vi.unstubAllEnvs());
  const few = perTask(await metered(100), 100);
  const many = perTask(await metered(1000), 1000);
  const table = [...many].map(
    ([name, number]) => `${name.padEnd(22)} ${(few.get(name) ?? 0).toFixed(3)}  ${number.toFixed(3)}`,
  );
  console.log(['a task, of 100 and of 1,000 orders:', ...table].join('\n  '));
  expect([...many.keys()]).toEqual([...few.keys()]);
  expect(many.size).toBeGreaterThanOrEqual(9);
  for (const [name, number] of many)
    expect(Math.abs(number / (few.get(name) ?? 0) - 1), name).toBeLessThanOrEqual(0.02);
  // Claim and commit, and the step before them: the hot path itself.
  expect(many.get('DynamoDB.UpdateItem')).toBeCloseTo(3 + 5 / STEPS.length, 1);
});

test('a transaction is one request, of two units for each KB of each item', async () => {
  const meter = newMeter();
  const memory = memoryStore({ others: { refusal: () => undefined, apply: () => {} } });
  const store = meteredStore(memory, meter);
  const of = (name: string, bytes: number): Update => ({
    key: { PK: name, SK: 's' },
    when: all(),
    changes: { text: to('x'.repeat(bytes)) },
  });
  const entry = { Put: { TableName: 'accounts', Item: { account: 'a', entry: 1 } } };
  expect(await store.transact([of('small', 10), of('large', 2_000)], [entry])).toEqual({ written: true });
  expect([...meter.calls]).toEqual([['DynamoDB.TransactWriteItems', 1]]);
  expect(meter.writeUnits).toBe(2 + 4 + 2);
  // Cancelled, it costs as much: what was there is larger than nothing.
  const refused = { ...of('large', 1), when: absent };
  expect(await store.transact([refused])).toMatchObject({ written: false });
  expect(meter.writeUnits).toBe(8 + 4);
  expect(meter.readUnits).toBe(0);
});
