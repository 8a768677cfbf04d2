import { describe, expect, test } from 'vitest';
import type { DeadMessageRow, DeadTaskRow } from '#core/dead-rows.ts';
import { commandOf } from '#core/envelope.ts';
import { aDeadStep, aRun, RUN_ID, seed, T0 } from '#test/examples.ts';
import { fakeConnection, pipeline } from './fake-connection.ts';
import { fakeQueues, letter, source } from './fake-letters.ts';

const HOUR = 3_600_000;
const task = (run: string, more: Partial<DeadTaskRow> = {}): DeadTaskRow => ({
  kind: 'task',
  taskId: `${run}/ShipOrder/0`,
  runId: run,
  step: 'ShipOrder',
  tenant: 'acme',
  workflow: 'order',
  type: 'shipping.parcel.ship',
  reason: 'exhausted',
  class: 'retryable',
  error: 'Timeout',
  message: 'no answer',
  fingerprint: 'f00d',
  tries: 3,
  started: 4,
  workers: ['v1'],
  version: 1,
  firstAt: T0,
  lastAt: T0 + HOUR,
  deaths: 1,
  replays: 0,
  seq: 1,
  expiresAt: 2_000_000_000,
  ...more,
});
const message: DeadMessageRow = {
  kind: 'message',
  messageId: 'm-strange',
  pool: 'shipping',
  reason: 'unreadable',
  problem: 'the body is not JSON',
  bytes: 7,
  hash: 'ab12'.repeat(16),
  firstAt: T0,
  lastAt: T0 + HOUR,
  expiresAt: 2_000_000_000,
};

const shipping = { ...source('shipping'), types: ['shipping.parcel.ship'] };

async function scene(waiting = 0) {
  const connection = {
    pipeline: async () => ({ ...pipeline, sources: [shipping, source('project')] }),
    depths: async () => ({ waiting, inFlight: 0 }),
  };
  const fake = fakeConnection({ connection });
  for (let n = 0; n < 30; n += 1)
    await fake.views.putDead(task(`01RUN${n}`, n === 7 ? { lastAt: T0 + 2 * HOUR } : {}));
  await fake.views.putDead(
    task('01OTHER', { fingerprint: 'beef', error: 'Refused', tenant: 'other', type: 'a.b.c' }),
  );
  await fake.views.putDead(message);
  return fake;
}

const REFUSAL = {
  class: 'permanent',
  name: 'Declined',
  message: 'no',
  fingerprint: 'f00d',
  refused: true,
} as const;

describe('dlq ls', () => {
  test('groups by cause, the largest first, with the newest of each', async () => {
    const { edow } = await scene();
    const { groups } = JSON.parse((await edow(['dlq', 'ls', '--json'])).out);
    expect(groups).toHaveLength(3);
    expect(groups[0]).toEqual({
      fingerprint: 'f00d',
      reasons: ['exhausted'],
      count: 30,
      firstAt: new Date(T0).toISOString(),
      lastAt: new Date(T0 + 2 * HOUR).toISOString(),
      pools: ['shipping'],
      tenants: ['acme'],
      error: 'Timeout',
      message: 'no answer',
      newest: '01RUN7/ShipOrder/0',
    });
    expect(groups.find(({ reasons }: { reasons: string[] }) => reasons[0] === 'unreadable')).toMatchObject({
      count: 1,
      pools: ['shipping'],
      message: 'the body is not JSON',
      newest: 'm-strange',
    });
    const { out } = await edow(['dlq', 'ls']);
    expect(out).toMatch(/^COUNT {2}FINGERPRINT {2}REASON/);
    expect(out).toMatch(/^30 {5}f00d .*shipping .*01RUN7\/ShipOrder\/0$/m);
    expect(out).toContain('  Timeout: no answer');
  });

  test.each([
    [['--fingerprint', 'beef'], ['01OTHER/ShipOrder/0']],
    [['--tenant', 'other'], ['01OTHER/ShipOrder/0']],
    [['--type', 'a.b.c'], ['01OTHER/ShipOrder/0']],
    [['--reason', 'unreadable'], ['m-strange']],
    [['--message', 'm-strange'], ['m-strange']],
    [['--task', '01RUN3/ShipOrder/0'], ['01RUN3/ShipOrder/0']],
    [['--workflow', 'none'], []],
    [['--pool', 'project'], []],
  ])('%j', async (flags, expected) => {
    const { edow } = await scene();
    const { entries } = JSON.parse((await edow(['dlq', 'ls', '--all', '--json', ...flags])).out);
    expect(
      entries.map((entry: { taskId?: string; messageId?: string }) => entry.taskId ?? entry.messageId),
    ).toEqual(expected);
  });

  test('lists each on request, and says what is still to come', async () => {
    const { edow } = await scene(3);
    const { out } = await edow(['dlq', 'ls', '--all', '--pool', 'shipping']);
    expect(out.split('\n').filter((line) => line.startsWith('shipping '))).toHaveLength(31);
    expect(out).toContain('3 events of the last moments are not in here yet.');
    expect(JSON.parse((await edow(['dlq', 'ls', '--json'])).out)).toMatchObject({ eventsWaiting: 3 });
  });

  test('nothing dead', async () => {
    const { edow } = fakeConnection();
    expect((await edow(['dlq', 'ls'])).out).toBe('Nothing is dead.\n');
    expect((await edow(['dlq', 'ls', '--since', '1h'])).out).toBe('Nothing is dead.\n');
  });
});

describe('dlq show', () => {
  const TASK = `${RUN_ID}/Reserve/0`;
  const command = commandOf({
    taskId: TASK,
    workflow: 'order',
    runId: RUN_ID,
    stepKey: 'Reserve',
    contract: { type: 'shipping.parcel.ship', version: 1, tries: 3 },
    tenant: 'acme',
    correlationId: 'c',
    traceparent: 't',
    execution: 10_000,
    entry: 0,
    enteredAt: T0,
    deadline: T0 + HOUR,
    data: { customer: 'Ada' },
  });
  async function dead(changes: Parameters<typeof aDeadStep>[0] = {}, run: Parameters<typeof aRun>[0] = {}) {
    const dead = letter(JSON.stringify(command));
    const strange = letter('not ours: Ada', { messageId: 'm-strange' });
    const queues = fakeQueues({ shipping: [dead, strange] });
    const connection = { pipeline: async () => ({ ...pipeline, sources: [shipping, source('project')] }) };
    const fake = fakeConnection({ queues, connection });
    const attempt = {
      fence: 1,
      class: 'retryable',
      name: 'Timeout',
      message: 'no answer',
      worker: 'v7',
    } as const;
    await seed(
      fake.store,
      aRun({ status: 'held', ...run }),
      aDeadStep({
        type: 'shipping.parcel.ship',
        attempts: [{ ...attempt, startedAt: T0, endedAt: T0 + 1500 }],
        ...changes,
      }),
    );
    await fake.views.putDead(message);
    return { ...fake, queues };
  }

  test('a task: every try, its versions, and what to do', async () => {
    const { edow } = await dead();
    const { out } = await edow(['dlq', 'show', TASK]);
    for (const text of [
      `Task ${TASK}  dead (exhausted)`,
      'shipping.parcel.ship version 2, pool shipping',
      'retryable  Timeout: no answer',
      'fingerprint f00d',
      '3 tries in all, 3 in the last round; 1 death; replays up to number 0',
      '1.5 s  retryable  Timeout: no answer  (worker v7)',
      `npx edow dlq replay --task ${TASK}`,
      `npx edow logs worker-shipping --run ${RUN_ID}`,
    ])
      expect(out).toContain(text);
    expect(out).not.toContain('Ada');
    const json = JSON.parse((await edow(['dlq', 'show', TASK, '--json'])).out);
    expect(json).toMatchObject({ reason: 'exhausted', attempts: [{ tookMs: 1500, worker: 'v7' }] });
    expect(json).not.toHaveProperty('payload');
  });

  test.each([
    [{ reason: 'unknown' }, {}, 'npx edow task resolve'],
    [{ reason: 'key_parked', parkedAt: 'PARK#p#k' }, {}, 'waits in line PARK#p#k'],
    [{ failure: REFUSAL }, {}, 'It was refused, which no copy changes: its run ends as failed.'],
    [{ status: 'done' }, {}, 'The task is done by now: nothing to do.'],
    [{}, { status: 'failed' }, 'Its run has failed: nothing can be replayed.'],
  ] as const)('%j %j: says what becomes of it', async (changes, run, expected) => {
    const { edow } = await dead(changes, run);
    expect((await edow(['dlq', 'show', TASK])).out).toContain(expected);
  });

  test('its payload on request only, and the letter stays', async () => {
    const { edow, queues } = await dead();
    expect(JSON.parse((await edow(['dlq', 'show', TASK, '--payload', '--json'])).out).payload).toEqual({
      customer: 'Ada',
    });
    expect(queues.hidden.size).toBe(0);
    expect(queues.left('shipping')).toHaveLength(2);
  });

  test('a message of no task', async () => {
    const { edow } = await dead();
    const { out } = await edow(['dlq', 'show', 'm-strange']);
    expect(out).toContain('Message m-strange  unreadable: the body is not JSON');
    expect(out).toContain('npx edow dlq discard --message m-strange');
    expect(out).not.toContain('Ada');
    expect((await edow(['dlq', 'show', 'm-strange', '--payload'])).out).toContain('not ours: Ada');
  });

  test('what is not there is said', async () => {
    const { edow } = await dead();
    expect((await edow(['dlq', 'show', 'm-none'])).err).toContain('no message m-none is in the index');
    expect((await edow(['dlq', 'show', `${RUN_ID}/Nope/0`])).err).toContain('has no task');
    const without = fakeConnection();
    await seed(without.store, aRun(), aDeadStep());
    expect((await without.edow(['dlq', 'show', TASK, '--payload'])).err).toContain('no dead letter of');
  });
});
