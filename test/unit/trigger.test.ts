import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { asRun, type RunItem, runKey } from '#core/items.ts';
import type { Store } from '#core/store.ts';
import { canonical, keyHash, type RunRequest, trigger } from '#core/trigger.ts';
import { DEPLOYED, MINUTE, SECOND, seed, T0 } from '#test/examples.ts';
import { manualClock, seededIds } from '#test/memory/determinate.ts';
import { memoryLog } from '#test/memory/log.ts';
import { memoryPayloads } from '#test/memory/payloads.ts';
import { memoryExecutions } from '#test/memory/state-machines.ts';
import { memoryStore } from '#test/memory/store.ts';
import { unreliableStore } from '#test/unreliable-store.ts';

const DAY = 86_400 * SECOND;
const request: RunRequest = {
  workflow: 'order',
  tenant: 'acme',
  idempotencyKey: 'key-1',
  input: { orderId: 'o-1', lines: [{ sku: 'a', quantity: 1 }] },
};

function scene() {
  const memory = memoryStore();
  const executions = memoryExecutions();
  const payloads = memoryPayloads();
  const clock = manualClock(T0);
  const ids = seededIds(clock);
  const log = memoryLog();
  const start = (changes: Partial<RunRequest> = {}, store: Store = memory) =>
    trigger({ store, executions, payloads, clock, ids }).start({ ...request, ...changes }, DEPLOYED, log);
  const runs = () =>
    memory
      .items()
      .filter(({ SK }) => SK === 'RUN')
      .map(asRun);
  return { memory, executions, payloads, clock, ids, log, start, runs };
}

/** The run of an accepted request. */
async function accepted(answer: ReturnType<ReturnType<typeof scene>['start']>): Promise<RunItem> {
  const got = await answer;
  if (!got.accepted) throw new Error(`refused: ${got.why}`);
  return got.run;
}

describe('a request', () => {
  test('is bound to its key, put as a run, and started, in this order', async () => {
    const { start, executions, memory, runs } = scene();
    const order: string[] = [];
    const store = unreliableStore(memory, {
      before: ({ name, key }) => void order.push(`${name} ${key} ${executions.started.length}`) as undefined,
    });
    const run = await accepted(start({}, store));
    expect(order).toEqual(['put KEY 0', 'put RUN 0']);
    expect(executions.started).toEqual([
      {
        stateMachineArn: DEPLOYED.stateMachineArn,
        name: run.runId,
        input: JSON.stringify({ runId: run.runId, execution: 1 }),
      },
    ]);
    expect(runs()).toEqual([run]);
    expect(run).toEqual({
      ...runKey(run.runId),
      runId: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{26}$/),
      workflow: 'order',
      definition: 'd1',
      tenant: 'acme',
      status: 'running',
      execution: 1,
      redrive: 0,
      input: JSON.stringify(request.input),
      correlationId: run.runId,
      traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/),
      startedAt: T0,
      updatedAt: T0,
      resumes: 0,
      seq: 1,
      checks: 0,
      openShard: expect.stringMatching(/^OPEN#(\d|1[0-5])$/),
      checkAt: T0 + 2 * MINUTE,
      outbox: expect.objectContaining({ type: 'edow.run.started', tenant: 'acme' }),
    });
  });

  test("may bring its caller's correlation and trace", async () => {
    const { start } = scene();
    const trace = {
      correlationId: 'c-7',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00',
    };
    expect(await accepted(start(trace))).toMatchObject(trace);
  });

  test('with a large input keeps it in the bucket, under its tenant and run', async () => {
    const { start, payloads } = scene();
    const input = { text: 'x'.repeat(9000) };
    const run = await accepted(start({ input }));
    expect(run).not.toHaveProperty('input');
    expect(run.inputRef).toContain(`acme/${run.runId}/input.json`);
    expect(JSON.parse(await payloads.get(run.inputRef ?? '', 'acme'))).toEqual(input);
  });

  test('leaves no input in a log line or in the execution', async () => {
    const { start, executions, log } = scene();
    await start();
    await start();
    expect(log.lines.length).toBeGreaterThan(0);
    expect(JSON.stringify([log.lines, executions.started])).not.toMatch(/o-1|sku/);
  });

  test('is found by the sweeper in the shard of its id', async () => {
    const { start, memory } = scene();
    const run = await accepted(start());
    expect(await memory.openRuns(run.openShard ?? '', T0 + 2 * MINUTE, 10)).toEqual([runKey(run.runId)]);
  });

  test('runs are spread over several shards', async () => {
    const { start } = scene();
    const shards = new Set<string | undefined>();
    for (let n = 0; n < 64; n += 1)
      shards.add((await accepted(start({ idempotencyKey: `k${n}` }))).openShard);
    expect(shards.size).toBeGreaterThan(8);
  });
});

describe('the same request again', () => {
  test('has the same answer, and is started once', async () => {
    const { start, executions, runs, clock } = scene();
    const first = await start();
    clock.pass(DAY);
    const second = await start({ input: { lines: [{ quantity: 1, sku: 'a' }], orderId: 'o-1' } });
    expect(first).toMatchObject({ accepted: true, repeated: false });
    expect(second).toEqual({ ...first, repeated: true });
    expect(executions.started).toHaveLength(1);
    expect(runs()).toHaveLength(1);
  });

  test('at the same time: one run', async () => {
    const { start, executions, runs } = scene();
    const answers = await Promise.all([start(), start(), start()]);
    expect(new Set(answers.map((answer) => answer.accepted && answer.run.runId)).size).toBe(1);
    expect(answers.filter((answer) => answer.accepted && !answer.repeated)).toHaveLength(1);
    expect(executions.started).toHaveLength(1);
    expect(runs()).toHaveLength(1);
  });

  test('with other input is refused, and nothing is started', async () => {
    const { start, executions, runs } = scene();
    await start();
    expect(await start({ input: { orderId: 'o-2' } })).toEqual({ accepted: false, why: 'other_request' });
    expect(executions.started).toHaveLength(1);
    expect(runs()).toHaveLength(1);
  });

  test.each([{ tenant: 'globex' }, { workflow: 'refund' }, { idempotencyKey: 'key-2' }])(
    'of %j is another request',
    async (other) => {
      const { start, runs } = scene();
      await start();
      expect(await start({ ...other, input: { orderId: 'o-2' } })).toMatchObject({
        accepted: true,
        repeated: false,
      });
      expect(runs()).toHaveLength(2);
    },
  );

  test('after 30 days is a new one: the key has expired, whether or not it is still there', async () => {
    const { start, runs, clock } = scene();
    await start();
    clock.pass(30 * DAY - SECOND);
    expect(await start()).toMatchObject({ repeated: true });
    clock.pass(SECOND);
    expect(await start()).toMatchObject({ accepted: true, repeated: false });
    expect(runs()).toHaveLength(2);
  });

  test('of a run that went on, or has ended, starts nothing', async () => {
    for (const changes of [
      { status: 'held' },
      { status: 'succeeded' },
      { status: 'running', execution: 2 },
    ] as const) {
      const { start, memory, executions } = scene();
      const run = await accepted(start());
      await seed(memory, { ...run, ...changes });
      executions.throttle(true);
      expect(await start()).toMatchObject({ accepted: true, repeated: true, run: changes });
    }
  });
});

describe('a crash is healed by the next call with that key', () => {
  const dying = (memory: Store, at: string) =>
    unreliableStore(memory, {
      before: ({ key }) => (key === at ? Promise.reject(new Error('killed')) : undefined),
    });

  test('between key and run', async () => {
    const { start, memory, executions, runs } = scene();
    await expect(start({}, dying(memory, 'RUN'))).rejects.toThrow('killed');
    expect([runs(), executions.started]).toEqual([[], []]);
    expect(await start()).toMatchObject({ accepted: true, repeated: false });
    expect(executions.started).toHaveLength(1);
    expect(runs()).toHaveLength(1);
  });

  test('between run and start', async () => {
    const { start, executions, runs } = scene();
    executions.throttle(true);
    expect(await start()).toEqual({ accepted: false, why: 'throttled' });
    executions.throttle(false);
    expect(await start()).toMatchObject({ accepted: true, repeated: true });
    expect(executions.started.map(({ name }) => name)).toEqual(runs().map(({ runId }) => runId));
  });

  test.each(['KEY', 'RUN'])('and so is a lost answer of the %s', async (key) => {
    const { start, memory, executions, runs } = scene();
    const losing = unreliableStore(memory, { lost: (call) => call.key === key });
    await expect(start({}, losing)).rejects.toThrow('the answer was lost');
    expect(await start()).toMatchObject({ accepted: true });
    expect(executions.started).toHaveLength(1);
    expect(runs()).toHaveLength(1);
  });
});

describe('a store that refuses and shows nothing', () => {
  test('has taken the write, as far as anybody can say', async () => {
    const { start, memory, executions } = scene();
    const blind: Store = { ...memory, put: async () => ({ written: false, item: undefined }) };
    expect(await start({}, blind)).toMatchObject({ accepted: true, repeated: false });
    expect(executions.started).toHaveLength(1);
  });
});

describe('canonical', () => {
  const json = fc.jsonValue({ maxDepth: 3 });
  /** The same value with the members of its objects in another order. */
  const shuffled = (value: unknown): unknown => {
    if (value === null || typeof value !== 'object') return value;
    if (Array.isArray(value)) return value.map(shuffled);
    const members = Object.entries(value).map(([name, part]) => [name, shuffled(part)] as const);
    return Object.fromEntries(members.reverse());
  };

  test('is JSON of the same value, whatever the order of members', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(JSON.parse(canonical(value))).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonical(shuffled(value))).toBe(canonical(value));
      }),
      { numRuns: 300 },
    );
  });

  test('tells different values apart', () => {
    fc.assert(
      fc.property(json, json, (one, two) => {
        const same = canonical(one) === canonical(two);
        const [left, right] = [one, two].map((value) => JSON.parse(JSON.stringify(value)));
        if (same) expect(left).toEqual(right);
        else expect(left).not.toEqual(right);
      }),
      { numRuns: 300 },
    );
  });

  test('keeps the order of lists, and sorts members at every depth', () => {
    expect(canonical([{ b: [2, 1], a: null }, 'x'])).toBe('[{"a":null,"b":[2,1]},"x"]');
    expect(canonical({ B: 1, a: { d: 1, c: 2 } })).toBe('{"B":1,"a":{"c":2,"d":1}}');
  });
});

test('no two triples of tenant, workflow and key give one hash, wherever they are cut', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.nat(), fc.nat(), fc.nat(), fc.nat(), (text, a, b, c, d) => {
      const cut = (one: number, two: number): [string, string, string] => {
        const [from, until] = [one % (text.length + 1), two % (text.length + 1)].sort((x, y) => x - y) as [
          number,
          number,
        ];
        return [text.slice(0, from), text.slice(from, until), text.slice(until)];
      };
      const [left, right] = [cut(a, b), cut(c, d)];
      const same = left.every((part, index) => part === right[index]);
      expect(keyHash(...left) === keyHash(...right)).toBe(same);
    }),
    { numRuns: 300 },
  );
});
