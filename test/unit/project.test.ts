import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TASK_FAILED, type TaskFailedData } from '#core/deaths.ts';
import { type Envelope, sourceOf } from '#core/envelope.ts';
import type { RunStatus } from '#core/items.ts';
import { project } from '#core/project.ts';
import { expiryOf, RUN_EVENTS, type RunEventData } from '#core/run-changes.ts';
import { MINUTE, RUN_ID, T0 } from '#test/examples.ts';
import { memoryViews } from '#test/memory/views.ts';

const event = (changes: Partial<Envelope>): Envelope => ({
  specversion: '1.0',
  id: `${RUN_ID}:1`,
  source: sourceOf('order'),
  type: RUN_EVENTS.started,
  time: new Date(T0).toISOString(),
  subject: RUN_ID,
  datacontenttype: 'application/json',
  correlationid: 'corr-1',
  causationid: RUN_ID,
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tenant: 'acme',
  ...changes,
});
const ofRun = (seq: number, status: RunStatus, execution = 1): Envelope => {
  const type = status === 'running' ? RUN_EVENTS.started : RUN_EVENTS[status];
  const updatedAt = T0 + seq * MINUTE;
  const data: RunEventData = {
    runId: RUN_ID,
    workflow: 'order',
    status,
    execution,
    startedAt: T0,
    updatedAt,
  };
  return event({ id: `${RUN_ID}:${seq}`, type, time: new Date(updatedAt).toISOString(), data });
};
const life = [ofRun(1, 'running'), ofRun(2, 'held'), ofRun(3, 'running', 2), ofRun(4, 'succeeded', 2)];

const list = async (views: ReturnType<typeof memoryViews>) =>
  (await views.listRuns({ tenant: 'acme', limit: 10 })).rows;

describe('the run list', () => {
  test('shows an open run without an expiry', async () => {
    const views = memoryViews();
    await project(views, ofRun(1, 'running'));
    expect(await list(views)).toEqual([
      {
        tenant: 'acme',
        runId: RUN_ID,
        workflow: 'order',
        status: 'running',
        execution: 1,
        startedAt: T0,
        updatedAt: T0 + MINUTE,
        seq: 1,
      },
    ]);
  });

  test.each(['succeeded', 'failed'] as const)('a run that has %s expires with its items', async (status) => {
    const views = memoryViews();
    await project(views, ofRun(2, status));
    expect(await list(views)).toMatchObject([{ status, expiresAt: expiryOf(T0 + 2 * MINUTE) }]);
  });

  test('a held run does not expire', async () => {
    const views = memoryViews();
    await project(views, ofRun(2, 'held'));
    expect((await list(views))[0]).not.toHaveProperty('expiresAt');
  });

  test('shows the newest state, in whatever order and however often the events come', async () => {
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray([...life, ...life], { minLength: 1 }), async (events) => {
        const views = memoryViews();
        for (const one of events) await project(views, one);
        const newest = Math.max(...events.map(({ id }) => Number(id.split(':')[1])));
        const data = life[newest - 1]?.data as RunEventData;
        expect(await list(views)).toMatchObject([
          { seq: newest, status: data.status, execution: data.execution },
        ]);
        const distinct = new Set(events.map(({ id }) => id)).size;
        expect(await views.timeline(RUN_ID)).toHaveLength(distinct);
      }),
      { numRuns: 50 },
    );
  });

  test('takes nothing from the events of tasks', async () => {
    const views = memoryViews();
    await project(views, event({ type: 'inventory.stock.reserved', data: { status: 'held', runId: 'x' } }));
    expect(await list(views)).toEqual([]);
  });
});

describe('the index of dead letters', () => {
  const task = `${RUN_ID}/Reserve/0`;
  const data: TaskFailedData = {
    taskId: task,
    type: 'inventory.stock.reserve',
    version: 2,
    reason: 'exhausted',
    tries: 3,
    started: 5,
    error: 'Timeout',
    class: 'retryable',
    message: 'no answer',
    fingerprint: 'f00d',
    workers: ['v1'],
    firstAt: T0 - MINUTE,
    deaths: 1,
    replays: 0,
  };
  const ofTask = (seq: number, type: string, more: Partial<TaskFailedData> = {}): Envelope =>
    event({
      id: `${task}:${seq}`,
      type,
      causationid: task,
      time: new Date(T0 + seq * MINUTE).toISOString(),
      data: { ...data, ...more },
    });
  const died = (seq: number, more: Partial<TaskFailedData> = {}) => ofTask(seq, TASK_FAILED, more);
  const done = (seq: number) => ofTask(seq, 'inventory.stock.reserved');
  const rows = (views: ReturnType<typeof memoryViews>) => views.deadOfRun(RUN_ID);

  test('shows a death with all that its event tells', async () => {
    const views = memoryViews();
    await project(views, died(1, { added: 'by nobody of ours' } as object));
    const { taskId: _, ...told } = data;
    expect(await rows(views)).toEqual([
      {
        kind: 'task',
        taskId: task,
        runId: RUN_ID,
        step: 'Reserve',
        tenant: 'acme',
        workflow: 'order',
        ...told,
        lastAt: T0 + MINUTE,
        seq: 1,
        expiresAt: (T0 + MINUTE) / 1000 + 360 * 86_400,
      },
    ]);
  });

  test('takes the event of an older version, and one that names no task', async () => {
    const views = memoryViews();
    const old = { type: 'a.b.c', reason: 'expired', error: 'DeadlinePassed' };
    await project(views, event({ id: `${task}:1`, type: TASK_FAILED, causationid: task, data: old }));
    expect(await rows(views)).toMatchObject([{ ...old, firstAt: T0, lastAt: T0 }]);
    await project(views, event({ id: `${RUN_ID}:9`, type: TASK_FAILED, causationid: '', data: old }));
    expect(await rows(views)).toHaveLength(1);
  });

  test('shows what is true in the end, in whatever order and however often the events come', async () => {
    const events = [died(1), died(2, { error: 'Second' }), done(3)];
    const open = new Map([
      [1, ['Timeout']],
      [2, ['Second']],
      [3, []],
    ]);
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray([...events, ...events], { minLength: 1 }), async (some) => {
        const views = memoryViews();
        for (const one of some) await project(views, one);
        const newest = Math.max(...some.map(({ id }) => Number(id.split(':')[1])));
        expect((await rows(views)).map(({ error }) => error)).toEqual(open.get(newest));
      }),
      { numRuns: 50 },
    );
  });

  test.each(['succeeded', 'failed'] as const)(
    'a run that has %s has no dead tasks, whichever event comes first',
    async (status) => {
      await fc.assert(
        fc.asyncProperty(
          fc.shuffledSubarray([died(1), ofRun(2, status), died(2)], { minLength: 3 }),
          async (some) => {
            const views = memoryViews();
            for (const one of some) await project(views, one);
            expect(await rows(views)).toEqual([]);
          },
        ),
        { numRuns: 20 },
      );
    },
  );

  test('a run that is held keeps them', async () => {
    const views = memoryViews();
    for (const one of [died(1), ofRun(2, 'held')]) await project(views, one);
    expect(await rows(views)).toHaveLength(1);
  });

  test('a task that never died costs no write', async () => {
    const views = memoryViews();
    const closed: unknown[] = [];
    const watched = { ...views, closeDead: async (one: unknown) => void closed.push(one) };
    await project(watched, done(1));
    await project(watched, event({ id: 'other:7', type: 'other.thing.happened', causationid: 'other' }));
    expect(closed).toEqual([]);
    await project(watched, done(2));
    expect(closed).toEqual([
      { runId: RUN_ID, taskId: task, seq: 2, expiresAt: (T0 + 2 * MINUTE) / 1000 + 18 * 86_400 },
    ]);
  });
});

describe('the timeline', () => {
  const task = `${RUN_ID}/Reserve/0`;

  test('shows what happened, in order of time', async () => {
    const views = memoryViews();
    for (const one of [...life].reverse()) await project(views, one);
    expect((await views.timeline(RUN_ID)).map(({ type }) => type)).toEqual([
      'edow.run.started',
      'edow.run.held',
      'edow.run.started',
      'edow.run.succeeded',
    ]);
  });

  test('shows of a failed task why, and nothing of what it worked on', async () => {
    const views = memoryViews();
    const data = { taskId: task, type: 'inventory.stock.reserve', reason: 'exhausted', error: 'Timeout' };
    await project(views, event({ id: `${task}:1`, type: 'edow.task.failed', causationid: task, data }));
    expect(await views.timeline(RUN_ID)).toEqual([
      {
        runId: RUN_ID,
        time: new Date(T0).toISOString(),
        eventId: `${task}:1`,
        type: 'edow.task.failed',
        source: task,
        detail: 'inventory.stock.reserve: Timeout (exhausted)',
        expiresAt: expiryOf(T0 + 270 * 86_400_000),
      },
    ]);
  });

  test('keeps the data of all other events out', async () => {
    const views = memoryViews();
    await project(
      views,
      event({ id: `${task}:1`, type: 'inventory.stock.reserved', data: { customer: 'Ada' } }),
    );
    const [entry] = await views.timeline(RUN_ID);
    expect(entry).not.toHaveProperty('detail');
    expect(JSON.stringify(entry)).not.toContain('Ada');
  });

  test('an event without a subject belongs to what caused it', async () => {
    const views = memoryViews();
    const { subject: _, ...without } = event({ type: 'inventory.stock.reserved' });
    await project(views, without);
    expect(await views.timeline(RUN_ID)).toHaveLength(1);
  });
});
