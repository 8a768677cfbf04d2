/** Two seconds for a record of dispatch, collect, relay and close: what hangs is handed back, counted, and done later. */
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { call } from '#adapters/call.ts';
import { systemClock } from '#adapters/system.ts';
import type { Envelope } from '#core/envelope.ts';
import { executionName, type StepItem } from '#core/items.ts';
import type { Answers, Events } from '#core/ports.ts';
import type { Item, Store } from '#core/store.ts';
import { closeEntry } from '#runtime/close-entry.ts';
import { dispatchEntry } from '#runtime/dispatch-entry.ts';
import { RECORD_MS } from '#runtime/in-time.ts';
import { aDispatch, aDoneStep, aRun, aStep, DEPLOYED, RUN_ID, seed, T0 } from '#test/examples.ts';
import { memoryPayloads } from '#test/memory/payloads.ts';
import { memoryAnswers, memoryExecutions } from '#test/memory/state-machines.ts';
import { memoryStore } from '#test/memory/store.ts';
import { memoryTopic } from '#test/memory/topic.ts';
import { lambdaContext, printed, runIdOf, sqsRecord } from '#test/pool-fixtures.ts';
import { collectOn, relayOn, streamRecord } from '#test/stream-fixtures.ts';

const FUNCTION_MS = 10_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: T0 });
  onTestFinished(() => void vi.useRealTimers());
});

const never = <T>(): Promise<T> => new Promise(() => {});

/** Lets time pass until the answer is there; gives it and the milliseconds that it took. */
async function timed<T>(answer: Promise<T>) {
  let settled: { readonly value?: T; readonly error?: unknown } | undefined;
  answer.then(
    (value) => {
      settled = { value };
    },
    (error: unknown) => {
      settled = { error };
    },
  );
  const from = Date.now();
  while (settled === undefined) {
    if (Date.now() - from > 60_000) throw new Error('there is no answer after a minute');
    await vi.advanceTimersByTimeAsync(50);
  }
  return { ...settled, ms: Date.now() - from };
}

/** Sum of the metric in what was printed. */
const counted = (log: ReturnType<typeof printed>): number =>
  log.entries().reduce((sum, { HandedBack = 0 }) => sum + Number(HandedBack), 0);

describe('dispatch', () => {
  function entered(hang: (ports: Ports) => Partial<Ports>) {
    const answers = memoryAnswers();
    answers.open('token-1');
    const ports: Ports = {
      store: memoryStore(),
      answers,
      commands: memoryTopic(),
      payloads: memoryPayloads(),
      clock: systemClock,
    };
    const enter = (more: Partial<Ports>, entry = 0) =>
      dispatchEntry({ ...ports, ...more })(aDispatch({ entry }), lambdaContext() as never) as Promise<void>;
    return { ...ports, answers, hang: () => enter(hang(ports)), again: () => enter({}, 1) };
  }
  type Ports = Parameters<typeof dispatchEntry>[0];

  test.each<[string, (ports: Ports) => Partial<Ports>]>([
    ['the write of the step', ({ store }) => ({ store: { ...store, update: never } })],
    ['the read of the run', ({ store }) => ({ store: { ...store, get: never } })],
    ['the topic', () => ({ commands: { publish: never } })],
  ])('%s hangs: the token is told after two seconds, and the next entry goes on', async (_what, hang) => {
    const log = printed();
    const state = entered(hang);
    await seed(state.store, aRun());
    const { ms } = await timed(state.hang());
    expect(ms).toBe(RECORD_MS);
    expect(state.answers.accepted).toEqual([
      { token: 'token-1', error: 'DispatchFailed', cause: 'dispatch failed: RecordLate' },
    ]);
    expect(counted(log)).toBe(1);
    state.answers.open('token-1');
    await state.again();
    expect(state.commands).toMatchObject({ taken: [{ id: `${RUN_ID}/Reserve/0`, entry: 1 }] });
  });

  test('the answer hangs too: thrown under the name on which the state tries again', async () => {
    printed();
    const state = entered(({ answers, store }) => ({
      answers: { ...answers, fail: never },
      store: { ...store, update: never },
    }));
    const { error, ms } = await timed(state.hang());
    expect(error).toMatchObject({ name: 'DispatchFailed' });
    expect(ms).toBe(2 * RECORD_MS);
  });

  test('what was given up calls nobody any more, not even when its process goes on hours later', async () => {
    printed();
    const topic = memoryTopic();
    let goOn = (): void => {};
    const state = entered(({ store }) => ({
      store: {
        ...store,
        get: async (key) => {
          await new Promise<void>((resolve) => {
            goOn = resolve;
          });
          return store.get(key);
        },
      },
      commands: { publish: (commands) => call('PublishBatch', () => topic.publish(commands)) },
    }));
    await seed(state.store, aRun());
    await timed(state.hang());
    await vi.advanceTimersByTimeAsync(3_600_000);
    goOn();
    await vi.advanceTimersByTimeAsync(1000);
    expect(topic.taken).toEqual([]);
  });

  test('in time, nothing is counted and no timer is left', async () => {
    const log = printed();
    const state = entered(() => ({}));
    await seed(state.store, aRun());
    await state.hang();
    expect(counted(log)).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });
});

const asItem = (item: object): Item => item as Item;
const nth = (n: number, step: StepItem): StepItem => ({
  ...step,
  PK: `RUN#${runIdOf(n)}`,
  runId: runIdOf(n),
  token: `token-${n}`,
});
const outbox = {
  type: 'inventory.stock.reserved',
  time: new Date(T0).toISOString(),
  source: 'urn:edow:workflow:order',
  dataschema: 'urn:edow:schema:inventory.stock.reserved:2',
  tenant: 'acme',
  correlationid: 'corr-1',
  traceparent: aRun().traceparent,
};
const done = (n: number) => nth(n, aDoneStep({ outbox }));
const records = (count: number) =>
  Array.from({ length: count }, (_, n) =>
    streamRecord(asItem(nth(n + 1, aStep())), asItem(done(n + 1)), String(101 + n)),
  );

describe('collect', () => {
  async function collectWith(count: number, hangs: (token: string) => boolean) {
    const answers = memoryAnswers();
    const state = { hang: true };
    const hanging: Answers = {
      ...answers,
      succeed: (token, output) => (state.hang && hangs(token) ? never() : answers.succeed(token, output)),
    };
    const collect = collectOn({ store: memoryStore(), answers: { ...answers, ...hanging } });
    for (let n = 1; n <= count; n += 1) {
      answers.open(`token-${n}`);
      await seed(collect.store, { ...aRun(), PK: `RUN#${runIdOf(n)}`, runId: runIdOf(n) }, done(n));
    }
    return { ...collect, state };
  }

  test('one answer hangs: it alone is set aside, after two seconds, and given later', async () => {
    const log = printed();
    const collect = await collectWith(30, (token) => token === 'token-4');
    const { value, ms } = await timed(collect.stream(records(30), FUNCTION_MS));
    expect(value).toEqual([]);
    expect(ms).toBe(RECORD_MS);
    expect(collect.answers.accepted).toHaveLength(29);
    expect(collect.retries.records).toEqual([
      JSON.stringify({ PK: `RUN#${runIdOf(4)}`, SK: 'STEP#Reserve' }),
    ]);
    expect(counted(log)).toBe(1);
    collect.state.hang = false;
    expect(await collect.again(collect.retries)).toEqual([]);
    expect(collect.answers.accepted).toHaveLength(30);
  });

  test('every answer of a full batch hangs: all are set aside before the function ends, each counted', async () => {
    const log = printed();
    const collect = await collectWith(100, () => true);
    const { value, ms } = await timed(collect.stream(records(100), FUNCTION_MS));
    expect(value).toEqual([]);
    expect(ms).toBeLessThan(FUNCTION_MS - RECORD_MS);
    expect(new Set(collect.retries.records).size).toBe(100);
    expect(counted(log)).toBe(100);
    collect.state.hang = false;
    expect(await collect.again(collect.retries)).toEqual([]);
    expect(collect.answers.accepted).toHaveLength(100);
  });

  test('its retry queue hangs as well: all are reported by their numbers before the function ends', async () => {
    printed();
    const collect = await collectWith(100, () => true);
    collect.retries.send = never;
    const { value, ms } = await timed(collect.stream(records(100), FUNCTION_MS));
    expect(new Set(value)).toEqual(new Set(Array.from({ length: 100 }, (_, n) => String(101 + n))));
    expect(ms).toBeLessThan(FUNCTION_MS);
  });

  test('it hangs again on the retry: the message stays on its queue, counted once', async () => {
    const log = printed();
    const collect = await collectWith(1, () => true);
    const body = JSON.stringify({ PK: `RUN#${runIdOf(1)}`, SK: 'STEP#Reserve' });
    const { value, ms } = await timed(collect.again({ records: [body] }));
    expect(value).toEqual([body]);
    expect(ms).toBe(RECORD_MS);
    expect(counted(log)).toBe(1);
  });

  test('the read of what was set aside hangs: the message stays', async () => {
    printed();
    const memory = memoryStore();
    const store: Store = { ...memory, get: never };
    const collect = collectOn({ store: { ...memory, ...store }, answers: memoryAnswers() });
    const { value } = await timed(collect.again({ records: ['{"PK":"RUN#1","SK":"RUN"}'] }));
    expect(value).toHaveLength(1);
  });
});

describe('relay', () => {
  test('one call to the topic hangs: its ten are set aside as they were, the others are told', async () => {
    const log = printed();
    const topic = memoryTopic<Envelope>();
    let hangs = true;
    const events: Events = {
      publish: (all) =>
        hangs && all.some(({ id }) => id.startsWith(runIdOf(14))) ? never() : topic.publish(all),
    };
    const relay = relayOn(events);
    const { value, ms } = await timed(relay.stream(records(95), FUNCTION_MS));
    expect(value).toEqual([]);
    expect(ms).toBe(RECORD_MS);
    expect(topic.taken).toHaveLength(85);
    expect(relay.retries.records).toHaveLength(10);
    expect(counted(log)).toBe(10);
    hangs = false;
    expect(await relay.again(relay.retries)).toEqual([]);
    expect(new Set(topic.taken.map(({ id }) => id)).size).toBe(95);
  });

  test('a hundred events are ten calls, and what one item told stays together and in order', async () => {
    printed();
    const calls: number[] = [];
    const topic = memoryTopic<Envelope>();
    const relay = relayOn({
      publish: (all) => {
        calls.push(all.length);
        return topic.publish(all);
      },
    });
    await relay.stream(records(100), FUNCTION_MS);
    expect(calls).toEqual(Array.from({ length: 10 }, () => 10));
    const [first] = records(1);
    const later = streamRecord(asItem(done(1)), asItem({ ...done(1), seq: 2 }), '900');
    await relay.stream([first, ...records(20).slice(1), later], FUNCTION_MS);
    const told = topic.taken.slice(100).filter(({ id }) => id.startsWith(runIdOf(1)));
    expect(told.map(({ id }) => id.at(-1))).toEqual(['1', '2']);
  });
});

describe('close', () => {
  test('a call hangs: it is thrown after two seconds, counted, and the next call closes the run', async () => {
    const log = printed();
    const store = memoryStore();
    await seed(store, aRun(), aDoneStep());
    const ports = {
      store,
      payloads: memoryPayloads(),
      executions: memoryExecutions(),
      clock: systemClock,
      deployment: 'state',
    };
    const event = {
      detail: {
        stateMachineArn: DEPLOYED.stateMachineArn,
        name: executionName(RUN_ID, 1),
        status: 'SUCCEEDED',
        output: '{}',
      },
    } as never;
    const hanging = closeEntry({ ...ports, store: { ...store, partition: never } });
    const { error, ms } = await timed(hanging(event, lambdaContext() as never) as Promise<void>);
    expect(error).toMatchObject({ name: 'RecordLate' });
    expect(ms).toBe(RECORD_MS);
    expect(counted(log)).toBe(1);
    await closeEntry(ports)(event, lambdaContext() as never);
    expect(store.items().find(({ SK }) => SK === 'RUN')).toMatchObject({ status: 'succeeded' });
  });
});

test('the metric names its function', async () => {
  const log = printed();
  vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', 'collect-fn');
  onTestFinished(() => void vi.unstubAllEnvs());
  const collect = collectOn();
  collect.store.get = never;
  await timed(collect.again({ records: [sqsRecord('{"PK":"RUN#1","SK":"RUN"}').body] }));
  const [metric] = log.entries().filter((entry) => '_aws' in entry);
  expect(metric).toMatchObject({ FunctionName: 'collect-fn', HandedBack: 1 });
});
