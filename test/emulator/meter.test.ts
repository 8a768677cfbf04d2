/**
 * What one order costs in requests and capacity units: the functions' own entry points, in this process, on the cloud's
 * tables, topics and queues, with a meter on every client. A request more on the hot path fails here. Units follow from
 * the bytes of items by AWS's rule; what clients cannot see is derived, and labelled so.
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Reading } from '#adapters/meter.ts';
import { ENDED_SHARDS, OPEN_SHARDS } from '#core/items.ts';
import { FIRST_CHECK_MS } from '#core/run-changes.ts';
import { inProcess } from '#test/cloud/in-process.ts';
import { anOrder, freshId, STEPS } from '#test/cloud/orders.ts';
import { suite } from '#test/cloud/suite.ts';
import { type Bench, conformanceBench } from './conformance/bench.ts';

const { meter, watched } = await vi.hoisted(async () => {
  const { requestMeter: make } = await import('../../lib/adapters/meter.ts');
  const one = make();
  return {
    meter: one,
    watched: <Client extends object>(client: Client): Client => {
      one.watch(client as never);
      return client;
    },
  };
});
vi.mock(import('#adapters/dynamo-client.ts'), async (original) => {
  const { dynamoClient } = await original();
  return { dynamoClient: () => watched(dynamoClient()) };
});
vi.mock(import('#adapters/sfn.ts'), async (original) => {
  const all = await original();
  return { ...all, sfnClient: () => watched(all.sfnClient()) };
});
vi.mock(import('#adapters/sns-publisher.ts'), async (original) => {
  const all = await original();
  return { ...all, snsClient: () => watched(all.snsClient()) };
});
vi.mock(import('#adapters/sqs.ts'), async (original) => {
  const all = await original();
  return { ...all, sqsClient: () => watched(all.sqsClient()) };
});

/** Calls of the sweeper: nothing is due, the run that ended is, nothing any more. */
const [IDLE, LOOK, AFTER] = ['idle sweep', 'sweep', 'sweep after'] as const;

/** Stage -> what it cost over a whole order. */
const costs = new Map<
  string,
  { calls: Map<string, number>; read: number; write: number; indexWrite: number; times: number }
>();
const { system } = suite();
let bench: Bench;

function book(stage: string, { calls, units }: Reading): void {
  const cost = costs.get(stage) ?? { calls: new Map(), read: 0, write: 0, indexWrite: 0, times: 0 };
  for (const [name, count] of Object.entries(calls))
    cost.calls.set(name, (cost.calls.get(name) ?? 0) + count);
  cost.read += units.read;
  cost.write += units.write;
  cost.indexWrite += units.indexWrite;
  cost.times += 1;
  costs.set(stage, cost);
}

beforeAll(async () => {
  bench = conformanceBench(system);
  const hands = { ...bench, sfn: system.sfn };
  const path = await inProcess(
    hands,
    system.machines['order'] ?? '',
    system.payloadBucket,
    async (stage, call) => {
      meter.reset();
      const answer = await call();
      book(stage, meter.reading());
      return answer;
    },
  );
  try {
    await path.order(anOrder('metered'), freshId('key'));
    await path.sweep(IDLE);
    // Two minutes and a little later it is due, and its events are no longer young.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + FIRST_CHECK_MS + 30_000 });
    await path.sweep(LOOK);
    await path.sweep(AFTER);
  } finally {
    vi.useRealTimers();
    path.close();
  }
}, 120_000);
afterAll(() => bench?.cleanUp(), 60_000);

const shown = (stage: string) => {
  const { calls = new Map(), read, write, indexWrite, times } = costs.get(stage) ?? {};
  return { times, calls: Object.fromEntries([...calls].sort()), read, write, indexWrite };
};

test('prints what one order costs, by stage', () => {
  const total = { requests: 0, read: 0, write: 0, indexWrite: 0 };
  const ofOrder = [...costs].filter(([stage]) => !stage.includes('sweep'));
  const lines = ofOrder.map(([stage, { calls, read, write, indexWrite, times }]) => {
    const requests = [...calls.values()].reduce((sum, count) => sum + count, 0);
    total.requests += requests;
    total.read += read;
    total.write += write;
    total.indexWrite += indexWrite;
    const names = [...calls].map(([name, count]) => `${name} ${count}`).join(', ');
    return `${stage.padEnd(9)} called ${String(times).padStart(2)}  requests ${String(requests).padStart(2)}  read ${read}  write ${write}  index ${indexWrite}  (${names})`;
  });
  const tasks = STEPS.length;
  const states = 5; // four tasks and a Choice
  const events = tasks + 2;
  console.log(
    [
      `one order of ${tasks} tasks:`,
      ...lines,
      `in all: ${total.requests} requests, ${total.read} read units, ${total.write} write units, ${total.indexWrite} index writes (index writes derived)`,
      `a task: ${(total.requests / tasks).toFixed(1)} requests, ${(total.write / tasks).toFixed(2)} write units`,
      `derived, not seen by clients, at batches of one: SQS ${tasks + events} receives and ${tasks + events} deletes, ` +
        `stream reads 0 (free with Lambda), Step Functions ${states + 1} transitions, SNS deliveries to SQS ${tasks + events} (free)`,
    ].join('\n  '),
  );
  expect(ofOrder).toHaveLength(7);
});

/** The request budget of the hot path: whoever changes a number here says why in the commit. */
test.each([
  // KEY and RUN; RUN stands in the index of open runs.
  ['trigger', 1, { 'DynamoDB.PutItem': 2, 'SFN.StartExecution': 1 }, { read: 0, write: 2, indexWrite: 1 }],
  // STEP, then RUN alone where the input is all that the step needs, or the whole run where it takes earlier results.
  [
    'dispatch',
    4,
    { 'DynamoDB.GetItem': 2, 'DynamoDB.Query': 2, 'DynamoDB.UpdateItem': 4, 'SNS.PublishBatch': 4 },
    { read: 5, write: 4, indexWrite: 0 },
  ],
  // Claim and commit.
  ['worker', 4, { 'DynamoDB.UpdateItem': 8 }, { read: 0, write: 8, indexWrite: 0 }],
  ['collect', 4, { 'SFN.SendTaskSuccess': 4 }, { read: 0, write: 0, indexWrite: 0 }],
  ['relay', 6, { 'SNS.PublishBatch': 6 }, { read: 0, write: 0, indexWrite: 0 }],
  // A line of the timeline for each event, the run's row for its first and its last, and a look for its dead tasks.
  ['project', 6, { 'DynamoDB.PutItem': 8, 'DynamoDB.Query': 1 }, { read: 1, write: 8, indexWrite: 4 }],
  // RUN (from the open runs to the ended ones) and its four steps.
  ['close', 1, { 'DynamoDB.Query': 2, 'DynamoDB.UpdateItem': 5 }, { read: 4, write: 6, indexWrite: 2 }],
])('%s: requests and units are as budgeted', (stage, times, calls, units) => {
  expect(shown(stage)).toEqual({ times, calls, ...units });
});

/** What the README's table calls the sweeper's look: the call that found the run, less the looks at the index. */
test("the sweeper's look at an ended run: requests and units are as budgeted", () => {
  const index = { 'DynamoDB.Query': OPEN_SHARDS + ENDED_SHARDS };
  // An eventually consistent query of nothing is half a unit.
  const idle = { times: 1, calls: index, read: (OPEN_SHARDS + ENDED_SHARDS) / 2, write: 0, indexWrite: 0 };
  expect(shown(IDLE)).toEqual(idle);
  // It has left the index: all was told.
  expect(shown(AFTER)).toEqual(idle);
  const found = shown(LOOK);
  const own: Record<string, number> = { ...found.calls };
  own['DynamoDB.Query'] = (own['DynamoDB.Query'] ?? 0) - index['DynamoDB.Query'];
  // The run's items and its timeline, and RUN out of the index; once a sweep, how many events wait.
  expect(own).toEqual({ 'DynamoDB.Query': 2, 'DynamoDB.UpdateItem': 1, 'SQS.GetQueueAttributes': 1 });
  const look = { reads: 3, writes: 2, indexWrites: 1 };
  expect({
    reads: (found.read ?? 0) - idle.read,
    writes: found.write,
    indexWrites: found.indexWrite,
  }).toEqual(look);
});
