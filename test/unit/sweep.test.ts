import { describe, expect, test } from 'vitest';
import { closer } from '#core/close.ts';
import type { Command } from '#core/envelope.ts';
import { PortUnavailable } from '#core/errors.ts';
import {
  asRun,
  asStep,
  executionName,
  type Outbox,
  type RunItem,
  runKey,
  type StepItem,
  stepItemKey,
} from '#core/items.ts';
import type { ExecutionState, QueueDepth, TimelineEntry, ViewRows } from '#core/ports.ts';
import { eventOf } from '#core/relay.ts';
import { expiryOf, FIRST_CHECK_MS, RUN_EVENTS, resumeRunOf, runOutbox } from '#core/run-changes.ts';
import { type SweepPorts, sweeper } from '#core/sweep.ts';
import {
  aDeadStep,
  aDispatch,
  aDoneStep,
  aRun,
  aStep,
  DEPLOYED,
  FIRST,
  MINUTE,
  RUN_ID,
  SECOND,
  SECOND_EXECUTION,
  seed,
  T0,
} from '#test/examples.ts';
import { manualClock } from '#test/memory/determinate.ts';
import { memoryLog } from '#test/memory/log.ts';
import { memoryPayloads } from '#test/memory/payloads.ts';
import { memoryRetelling } from '#test/memory/queues.ts';
import { memoryAnswers, memoryExecutions } from '#test/memory/state-machines.ts';
import { memoryStore } from '#test/memory/store.ts';
import { memoryTopic } from '#test/memory/topic.ts';
import { memoryViews } from '#test/memory/views.ts';
import { unreliableStore } from '#test/unreliable-store.ts';

/** When the example run is due for its first look. */
const DUE = T0 + FIRST_CHECK_MS;
const TASK = `${RUN_ID}/Reserve/0`;

interface Given {
  readonly run?: RunItem;
  readonly steps?: readonly StepItem[];
  /** State of the run's execution; undefined: it was never started. Default: running. */
  readonly execution?: ExecutionState | undefined;
  /** Messages in the work queue; undefined: there is none. */
  readonly waiting?: number | undefined;
  readonly at?: number;
  readonly ports?: Partial<SweepPorts>;
}

async function scene(given: Given) {
  const { run = aRun(), steps = [], at = DUE, ports = {} } = given;
  const memory = memoryStore();
  await seed(memory, run, ...steps);
  const clock = manualClock(at);
  const answers = memoryAnswers();
  answers.open('token-1');
  const executions = memoryExecutions();
  const execution = 'execution' in given ? given.execution : { status: 'RUNNING' as const };
  const name = executionName(run.runId, run.execution);
  if (execution) {
    await executions.start(DEPLOYED.stateMachineArn, name, '');
    executions.end(DEPLOYED.stateMachineArn, name, execution);
  }
  const before = executions.started.length;
  const commands = memoryTopic<Command>();
  const payloads = memoryPayloads();
  const log = memoryLog();
  const asked: string[] = [];
  const views = memoryViews();
  const behind: string[] = [];
  const retelling = memoryRetelling({ waiting: () => behind.length });
  const queues: QueueDepth = {
    waiting: async (type) => {
      asked.push(type);
      return 'waiting' in given ? given.waiting : 0;
    },
  };
  const { sweep } = sweeper({
    store: memory,
    executions,
    answers,
    commands,
    payloads,
    queues,
    clock,
    closer: closer({ store: memory, payloads, clock }),
    workflows: new Map([['order', DEPLOYED]]),
    views,
    retelling,
    ...ports,
  });
  const runNow = async () => asRun((await memory.get(runKey(RUN_ID))) ?? ({} as never));
  const stepNow = async () => asStep((await memory.get(stepItemKey(RUN_ID, 'Reserve'))) ?? ({} as never));
  const started = () => executions.started.slice(before);
  return {
    memory,
    clock,
    answers,
    executions,
    commands,
    log,
    asked,
    views,
    retold: retelling.told,
    behind,
    sweep: (until = Number.POSITIVE_INFINITY) => sweep(log, until),
    runNow,
    stepNow,
    started,
  };
}

describe('a sweep', () => {
  test('looks at runs that are due, in every shard, and makes their next look later', async () => {
    const { memory, sweep, runNow } = await scene({});
    for (let shard = 0; shard < 16; shard += 1) {
      const runId = RUN_ID.replace(/..$/, String(shard + 10));
      await seed(memory, aRun({ ...runKey(runId), runId, openShard: `OPEN#${shard}` }));
    }
    expect(await sweep()).toEqual({ checked: 17, failed: 0, held: 0, ended: 0, left: false });
    expect(await runNow()).toMatchObject({ checks: 1, checkAt: DUE + 4 * MINUTE, seq: 1 });
    expect(await sweep()).toEqual({ checked: 0, failed: 0, held: 0, ended: 0, left: false });
  });

  describe('of a run that has ended', () => {
    const outbox = (changes: Partial<Outbox> = {}): Outbox => ({
      ...runOutbox(aRun(), RUN_EVENTS.succeeded, {}, T0),
      ...changes,
    });
    const ended = aRun({
      status: 'failed',
      closedAt: T0,
      expiresAt: 1_900_000_000,
      openShard: 'ENDED#1',
      seq: 3,
      outbox: outbox(),
      earlier: [1, 2].map((seq) => ({
        seq,
        type: RUN_EVENTS.started,
        time: new Date(T0 - MINUTE + seq).toISOString(),
        dataschema: 's',
        data: JSON.stringify({ seq }),
      })),
    });
    const tellAll = async (views: ViewRows) => {
      for (const seq of [1, 2, 3]) await views.addToTimeline(entryOf(`${RUN_ID}:${seq}`));
    };
    const entryOf = (eventId: string): TimelineEntry => ({
      runId: RUN_ID,
      time: new Date(T0).toISOString(),
      eventId,
      type: 't',
      source: RUN_ID,
      expiresAt: 1_900_000_000,
    });
    const AT = DUE + SECOND;

    test('retires what its close left, and lets it go once all is told', async () => {
      const { sweep, runNow, stepNow, answers, views, retold } = await scene({
        run: ended,
        steps: [aDeadStep()],
        at: AT,
      });
      await tellAll(views);
      expect(await sweep()).toMatchObject({ checked: 0, failed: 0, ended: 1 });
      expect(await stepNow()).toMatchObject({ status: 'cancelled', expiresAt: expiryOf(T0) });
      expect(await runNow()).not.toHaveProperty('openShard');
      expect(answers.accepted).toEqual([]);
      expect(retold).toEqual([]);
      expect(await sweep()).toMatchObject({ ended: 0 });
    });

    test('of a version that kept it among the open ones', async () => {
      const { sweep, runNow, views } = await scene({ run: { ...ended, openShard: 'OPEN#7' }, at: AT });
      await tellAll(views);
      expect(await sweep()).toMatchObject({ checked: 1 });
      expect(await runNow()).not.toHaveProperty('openShard');
    });

    test('tells again what the stream lost, each as it was, and looks again', async () => {
      const { sweep, runNow, views, retold, clock, log } = await scene({ run: ended, at: AT });
      await views.addToTimeline(entryOf(`${RUN_ID}:2`));
      expect(await sweep()).toMatchObject({ ended: 1 });
      expect(retold.map((image) => eventOf(image))).toEqual([
        expect.objectContaining({ id: `${RUN_ID}:1`, type: RUN_EVENTS.started, data: { seq: 1 } }),
        expect.objectContaining({ id: `${RUN_ID}:3`, type: RUN_EVENTS.succeeded }),
      ]);
      expect(log.lines.map(({ message }) => message)).toContain('events that nobody had told are told again');
      expect(await runNow()).toMatchObject({ openShard: 'ENDED#1', checks: 1, checkAt: AT + 4 * MINUTE });
      await tellAll(views);
      clock.pass(5 * MINUTE);
      expect(await sweep()).toMatchObject({ ended: 1 });
      expect(await runNow()).not.toHaveProperty('openShard');
    });

    test('waits while the projector is behind, and while an event is young', async () => {
      const late = await scene({ run: ended, at: AT });
      late.behind.push(...Array.from({ length: 11 }, String));
      await late.sweep();
      expect(late.retold).toEqual([]);
      expect(await late.runNow()).toMatchObject({ openShard: 'ENDED#1', checks: 1 });
      const young = await scene({
        run: { ...ended, outbox: outbox({ time: new Date(AT - MINUTE).toISOString() }) },
        at: AT,
      });
      await young.views.addToTimeline(entryOf(`${RUN_ID}:1`));
      await young.views.addToTimeline(entryOf(`${RUN_ID}:2`));
      await young.sweep();
      expect(young.retold).toEqual([]);
      expect(await young.runNow()).toMatchObject({ openShard: 'ENDED#1' });
      const onlyYoung = await scene({
        run: { ...ended, earlier: [], outbox: outbox({ time: new Date(AT - MINUTE).toISOString() }) },
        at: AT,
      });
      await onlyYoung.sweep();
      expect(await onlyYoung.runNow()).toMatchObject({ openShard: 'ENDED#1' });
    });

    test('has an end: after an hour it lets go, loudly', async () => {
      const { sweep, runNow, log } = await scene({ run: { ...ended, checks: 5 }, at: AT });
      await sweep();
      expect(await runNow()).not.toHaveProperty('openShard');
      expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([
        { message: 'events of a run are told again and again and reach nobody' },
      ]);
    });

    test('that tells nothing, or nothing of this week, goes at once', async () => {
      const { outbox: _, earlier: __, ...silent } = ended;
      const { sweep, runNow } = await scene({ run: silent, at: AT });
      await sweep();
      expect(await runNow()).not.toHaveProperty('openShard');
      const old = await scene({ run: ended, at: T0 + 8 * 86_400_000 });
      await old.sweep();
      expect(old.retold).toEqual([]);
      expect(await old.runNow()).not.toHaveProperty('openShard');
    });

    test('is left for the next sweep when the time is over, and stays due when its look fails', async () => {
      const { sweep, runNow, memory } = await scene({ run: ended, at: AT });
      expect(await sweep(AT - 1)).toMatchObject({ ended: 0 });
      expect(await runNow()).toEqual(ended);
      const slow = await scene({
        run: ended,
        at: AT,
        ports: {
          store: {
            ...memory,
            openRuns: (shard, ...asked) => {
              if (shard === ended.openShard) slow.clock.pass(SECOND);
              return memory.openRuns(shard, ...asked);
            },
          },
        },
      });
      expect(await slow.sweep(AT)).toMatchObject({ ended: 0, failed: 0 });
      expect(await runNow()).toEqual(ended);
      const failing = await scene({
        run: ended,
        at: AT,
        ports: { views: { timeline: () => Promise.reject(new PortUnavailable('throttled')) } },
      });
      expect(await failing.sweep()).toMatchObject({ ended: 0, failed: 1 });
      expect(await failing.runNow()).toEqual(ended);
    });

    test('that is gone, or open again by an old index, is passed over', async () => {
      const { sweep, runNow } = await scene({ run: aRun({ openShard: 'ENDED#1', checkAt: T0 }), at: AT });
      expect(await sweep()).toMatchObject({ ended: 1 });
      expect(await runNow()).toMatchObject({ status: 'running', checks: 0 });
      const vanished = await scene({ run: ended, at: AT });
      const gone = await scene({
        run: ended,
        at: AT,
        ports: {
          store: { ...vanished.memory, update: async () => ({ written: false, item: undefined }) },
        },
      });
      expect(await gone.sweep()).toMatchObject({ ended: 1, failed: 0 });
    });
  });

  test('tells again what an open run lacks', async () => {
    const run = aRun({ outbox: runOutbox(aRun(), RUN_EVENTS.started, {}, T0 - SECOND) });
    const { sweep, retold, runNow } = await scene({ run });
    await sweep();
    expect(retold.map((image) => eventOf(image)?.id)).toEqual([`${RUN_ID}:1`]);
    expect(await runNow()).toMatchObject({ openShard: 'OPEN#7', checks: 1 });
  });

  test('leaves runs alone that are not due', async () => {
    const { sweep, runNow, answers } = await scene({ at: DUE - 1, steps: [aDoneStep()] });
    expect(await sweep()).toMatchObject({ checked: 0 });
    expect(await runNow()).toEqual(aRun());
    expect(answers.accepted).toEqual([]);
  });

  /** So many more runs that are due, in the given shards. */
  const many = async (memory: Parameters<typeof seed>[0], count: number, shards: readonly number[]) => {
    for (let n = 0; n < count; n += 1) {
      const runId = RUN_ID.slice(0, -3) + String(100 + n);
      const openShard = `OPEN#${shards[n % shards.length]}`;
      await seed(memory, aRun({ ...runKey(runId), runId, openShard, checkAt: DUE - n }));
    }
  };

  test('stops at 200 runs, and says that some are left', async () => {
    const { memory, sweep } = await scene({});
    await many(memory, 201, [0, 1]);
    expect(await sweep()).toEqual({ checked: 200, failed: 0, held: 0, ended: 0, left: true });
    expect(await sweep()).toEqual({ checked: 2, failed: 0, held: 0, ended: 0, left: false });
  });

  test('of 200 runs leaves none', async () => {
    const { memory, sweep } = await scene({});
    await many(memory, 199, [7]);
    expect(await sweep()).toEqual({ checked: 200, failed: 0, held: 0, ended: 0, left: false });
  });

  test('begins at another shard each minute: a shard full of runs that cannot be checked keeps no other waiting', async () => {
    const memory = memoryStore();
    await seed(memory, aRun());
    await many(memory, 201, [3]);
    const store = unreliableStore(memory, {
      before: ({ name, key }) =>
        name === 'partition' && key !== `RUN#${RUN_ID}`
          ? Promise.reject(new PortUnavailable('slow'))
          : undefined,
    });
    const { sweep, clock } = await scene({ ports: { store } });
    let checked = 0;
    for (let minute = 0; minute < 16 && checked === 0; minute += 1) {
      ({ checked } = await sweep());
      clock.pass(MINUTE);
    }
    expect(checked).toBe(1);
  });

  test('goes on after a run that could not be checked, which stays due', async () => {
    const broken = RUN_ID.replace(/.$/, '8');
    const { memory, sweep, log } = await scene({ ports: {} });
    await seed(memory, aRun({ ...runKey(broken), runId: broken, openShard: 'OPEN#0' }));
    const store = unreliableStore(memory, {
      before: ({ key }) =>
        key === `RUN#${broken}` ? Promise.reject(new PortUnavailable('slow')) : undefined,
    });
    const other = await scene({ ports: { store } });
    expect(await other.sweep()).toEqual({ checked: 1, failed: 1, held: 0, ended: 0, left: false });
    expect(other.log.lines).toContainEqual(
      expect.objectContaining({
        level: 'error',
        fields: expect.objectContaining({ error: 'PortUnavailable' }),
      }),
    );
    expect(await sweep()).toMatchObject({ checked: 1, failed: 0 });
    expect(log.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('an entry of the index whose run is gone is no fault', async () => {
    const memory = memoryStore();
    const store = {
      ...memory,
      openRuns: async (shard: string) => (shard === 'OPEN#3' ? [runKey('GONE')] : []),
    };
    const { sweep } = await scene({ ports: { store } });
    expect(await sweep()).toEqual({ checked: 1, failed: 0, held: 0, ended: 0, left: false });
    expect(memory.items()).toEqual([]);
  });

  test('a run of a workflow that is not deployed is told, and looked at again later', async () => {
    const { sweep, runNow, log, started } = await scene({
      run: aRun({ workflow: 'gone' }),
      execution: undefined,
    });
    expect(await sweep()).toMatchObject({ checked: 1 });
    expect(log.lines).toContainEqual(expect.objectContaining({ level: 'error' }));
    expect(await runNow()).toMatchObject({ checks: 1, status: 'running' });
    expect(started()).toEqual([]);
  });

  test('a run that ended since the index was read is left alone', async () => {
    const ended = { ...aRun({ status: 'succeeded', closedAt: T0 }) };
    const { sweep, memory, runNow, started } = await scene({ run: ended, execution: undefined });
    expect(await sweep()).toMatchObject({ checked: 1 });
    expect(started()).toEqual([]);
    expect(await runNow()).toMatchObject({ status: 'succeeded' });
    expect(memory.items()).toHaveLength(1);
  });
});

describe('a running run', () => {
  test('that was accepted but never started is started', async () => {
    const { sweep, started } = await scene({ execution: undefined });
    await sweep();
    expect(started()).toEqual([
      {
        stateMachineArn: DEPLOYED.stateMachineArn,
        name: RUN_ID,
        input: `{"runId":"${RUN_ID}","execution":1}`,
      },
    ]);
  });

  const told = aRun({ outbox: runOutbox(aRun(), RUN_EVENTS.started, {}, T0 - SECOND) });
  const away = () => Promise.reject(new PortUnavailable('throttled'));

  test.each<[string, Partial<SweepPorts>]>([
    ['the views are away', { views: { timeline: away } }],
    ['nobody can say how many events wait', { retelling: { waiting: away, tell: away } }],
  ])('is started though %s, and stays due', async (_what, ports) => {
    const { sweep, started, runNow } = await scene({ run: told, execution: undefined, ports });
    expect(await sweep()).toMatchObject({ checked: 0, failed: 1 });
    expect(started().map(({ name }) => name)).toEqual([RUN_ID]);
    expect(await runNow()).toEqual(told);
  });

  test('is told of though its execution cannot be asked for, and stays due', async () => {
    const executions = { ...memoryExecutions(), describe: away };
    const { sweep, retold, runNow } = await scene({ run: told, ports: { executions } });
    expect(await sweep()).toMatchObject({ checked: 0, failed: 1 });
    expect(retold).toHaveLength(1);
    expect(await runNow()).toEqual(told);
  });

  test('that was resumed but never started is started, too', async () => {
    const { sweep, started } = await scene({ run: aRun({ execution: 2 }), execution: undefined });
    await sweep();
    expect(started().map(({ name }) => name)).toEqual([`${RUN_ID}-2`]);
  });

  test('whose execution has ended is closed', async () => {
    const execution = { status: 'SUCCEEDED', output: '{"ok":true}' } as const;
    const { sweep, runNow, stepNow } = await scene({ execution, steps: [aDoneStep()] });
    expect(await sweep()).toMatchObject({ checked: 1, held: 0 });
    const run = await runNow();
    expect(run).toMatchObject({ status: 'succeeded', output: '{"ok":true}' });
    expect(run).toMatchObject({ openShard: 'ENDED#3', checkAt: DUE + FIRST_CHECK_MS });
    expect(await stepNow()).toHaveProperty('expiresAt');
  });

  test('whose execution has failed is held, and counted', async () => {
    const execution = { status: 'FAILED', error: 'TaskFailed' } as const;
    const { sweep, runNow } = await scene({ execution, steps: [aDeadStep()] });
    expect(await sweep()).toMatchObject({ checked: 1, held: 1 });
    expect(await runNow()).toMatchObject({ status: 'held', checkAt: DUE + FIRST_CHECK_MS, checks: 0 });
  });

  test('that was held before one of its tasks refused ends as failed', async () => {
    const failure = {
      class: 'permanent',
      name: 'No',
      message: 'no',
      fingerprint: 'f',
      refused: true,
    } as const;
    const { sweep, runNow, stepNow } = await scene({
      run: aRun({ status: 'held' }),
      steps: [aDeadStep({ reason: 'permanent', failure })],
    });
    expect(await sweep()).toMatchObject({ checked: 1, held: 0 });
    expect(await runNow()).toMatchObject({ status: 'failed', cause: { error: 'TaskRefused' } });
    expect(await stepNow()).toMatchObject({ status: 'cancelled' });
  });
});

describe('an answer that was lost is given again', () => {
  test.each<[string, Partial<StepItem>, number, boolean]>([
    ['a minute after the task was done', {}, 61 * SECOND + 1, true],
    ['not sooner: collect is at work', {}, 61 * SECOND, false],
    ['a task whose end nobody noted', { doneAt: undefined as never }, 61 * SECOND + 1, true],
  ])('%s', async (_what, changes, later, given) => {
    const run = aRun({ checkAt: T0 });
    const { sweep, answers } = await scene({ run, steps: [aDoneStep(changes)], at: T0 + later });
    await sweep();
    expect(answers.accepted).toEqual(given ? [{ token: 'token-1', output: '{"reservationId":"r-1"}' }] : []);
  });

  test('also beside a step that cannot be mended: its run stays due for that one', async () => {
    const hopeless = aStep({
      ...stepItemKey(RUN_ID, 'Apart'),
      stepKey: 'Apart',
      orderBy: 'account',
      token: 'token-2',
    });
    const { sweep, answers, runNow, log } = await scene({ steps: [hopeless, aDoneStep()], at: DUE + MINUTE });
    expect(await sweep()).toMatchObject({ checked: 0, failed: 1 });
    expect(answers.accepted).toEqual([{ token: 'token-1', output: '{"reservationId":"r-1"}' }]);
    expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([
      { message: 'run could not be checked', fields: { error: 'ContractError' } },
    ]);
    expect((await runNow()).checks).toBe(0);
  });

  test('with an empty object where nothing is exposed', async () => {
    const { exposed: _, ...silent } = aDoneStep();
    const { sweep, answers } = await scene({ steps: [silent] });
    await sweep();
    expect(answers.accepted).toEqual([{ token: 'token-1', output: '{}' }]);
  });

  test.each<[string, Partial<StepItem>, boolean]>([
    ['a failure a minute after the death', { deadAt: DUE - MINUTE - 1 }, true],
    ['not sooner', { deadAt: DUE - MINUTE }, false],
    ['a death that nobody noted', { deadAt: undefined as never }, true],
    ['not the failure of an older execution', { deadAt: T0, execution: SECOND_EXECUTION }, false],
  ])('%s', async (_what, changes, given) => {
    const { sweep, answers } = await scene({ steps: [aDeadStep(changes)] });
    await sweep();
    expect(answers.accepted.map(({ error }) => error)).toEqual(given ? ['TaskFailed'] : []);
  });

  test('was it not lost, nothing is said of it', async () => {
    const { sweep, answers, log } = await scene({
      steps: [aDoneStep(), { ...aDeadStep({ deadAt: T0 }), ...stepItemKey(RUN_ID, 'B') }],
    });
    answers.close('token-1');
    await sweep();
    expect(log.lines.filter(({ message }) => message.includes('lost'))).toEqual([]);
  });

  test('no log line shows a token or an output', async () => {
    const { sweep, log } = await scene({ steps: [aDoneStep()] });
    await sweep();
    expect(log.lines.length).toBeGreaterThan(0);
    expect(JSON.stringify(log.lines)).not.toMatch(/token-1|reservationId/);
  });
});

describe('a task that nobody has met', () => {
  const LATER = T0 + 120 * SECOND + 1;

  test('is published again, as it was, and counted', async () => {
    const { sweep, commands, stepNow, asked } = await scene({ steps: [aStep()], at: LATER });
    await sweep();
    expect(asked).toEqual(['inventory.stock.reserve']);
    expect(commands.taken).toMatchObject([
      { id: TASK, execution: FIRST, entry: 0, data: { orderId: 'o-1' } },
    ]);
    expect(await stepNow()).toEqual(aStep({ republished: 1 }));
  });

  test.each<[string, Given]>([
    ['not before two minutes', { steps: [aStep()], at: LATER - 1 }],
    [
      'not two minutes before its next try is due',
      { steps: [aStep({ status: 'retrying', notBefore: T0 + 1 })], at: LATER },
    ],
    ['not past its deadline', { steps: [aStep({ deadline: LATER })], at: LATER }],
    ['not while its queue is long: it will be met', { steps: [aStep()], at: LATER, waiting: 11 }],
    ['not when nobody subscribes to it', { steps: [aStep()], at: LATER, waiting: undefined }],
    ['not a fourth time', { steps: [aStep({ republished: 3 })], at: LATER }],
    ['not while a worker has it', { steps: [aStep({ status: 'claimed', fence: 1 })], at: LATER }],
    ['not when it is cancelled', { steps: [aStep({ status: 'cancelled' })], at: LATER }],
  ])('%s', async (_what, given) => {
    const { sweep, commands, stepNow } = await scene(given);
    await sweep();
    expect(commands.taken).toEqual([]);
    expect(await stepNow()).toEqual(given.steps?.[0]);
  });

  test.each<[string, Given]>([
    [
      'retrying, two minutes after its next try was due',
      { steps: [aStep({ status: 'retrying', notBefore: T0 })], at: LATER },
    ],
    ['a third time', { steps: [aStep({ republished: 2 })], at: LATER }],
    ['while its queue is near empty', { steps: [aStep()], at: LATER, waiting: 10 }],
  ])('%s', async (_what, given) => {
    const { sweep, commands, log } = await scene(given);
    await sweep();
    expect(commands.taken).toHaveLength(1);
    expect(log.lines).toContainEqual(
      expect.objectContaining({ fields: expect.objectContaining({ published: true }) }),
    );
  });

  test.each<[string, StepItem]>([
    ['met', aStep({ status: 'claimed', fence: 1 })],
    ['tried', aStep({ status: 'retrying', fence: 1 })],
    ['entered again', aStep({ execution: SECOND_EXECUTION })],
  ])('but %s since the look is not', async (_what, now) => {
    const memory = memoryStore();
    await seed(memory, aRun(), aStep());
    const store = unreliableStore(memory, {
      before: ({ name, key }) =>
        name === 'update' && key === 'STEP#Reserve' ? seed(memory, now) : undefined,
    });
    const { sweep, commands } = await scene({ at: LATER, ports: { store } });
    await sweep();
    expect(commands.taken).toEqual([]);
    expect(await memory.get(stepItemKey(RUN_ID, 'Reserve'))).toEqual(now);
  });

  test('whose command is not taken is tried at the next look', async () => {
    const { sweep, commands, log, clock } = await scene({ steps: [aStep()], at: LATER });
    commands.refuse(TASK);
    expect(await sweep()).toMatchObject({ checked: 1, failed: 0 });
    expect(log.lines).toContainEqual(
      expect.objectContaining({ fields: expect.objectContaining({ published: false }) }),
    );
    clock.pass(4 * MINUTE);
    await sweep();
    expect(log.lines.filter(({ fields }) => fields['published'] === false)).toHaveLength(2);
  });

  test('whose queue is away for many looks is still sent three times after that', async () => {
    let away: 'throws' | 'takes nothing' | undefined;
    const taken: string[] = [];
    const publish = async (commands: readonly Command[]) => {
      if (away === 'throws') throw new PortUnavailable('SendMessage is unavailable: TimeoutError');
      if (away === undefined) taken.push(...commands.map(({ id }) => id));
      return away === undefined ? [] : commands.map(({ id }) => id);
    };
    const step = aStep({ deadline: T0 + 1000 * MINUTE });
    const { sweep, clock, stepNow } = await scene({
      steps: [step],
      at: LATER,
      ports: { commands: { publish } },
    });
    for (away of ['throws', 'takes nothing', 'throws', 'takes nothing', 'throws'] as const) {
      expect(await sweep()).toMatchObject({ failed: away === 'throws' ? 1 : 0 });
      expect(await stepNow()).toMatchObject({ republished: 0, status: 'ready' });
      clock.pass(61 * MINUTE);
    }
    away = undefined;
    for (let look = 0; look < 5; look += 1) {
      await sweep();
      clock.pass(61 * MINUTE);
    }
    expect(taken).toEqual([TASK, TASK, TASK]);
  });

  test('that is entered again while its command is not taken keeps its own count', async () => {
    const memory = memoryStore();
    await seed(memory, aRun(), aStep());
    const again = aStep({ execution: SECOND_EXECUTION, republished: 2 });
    const publish = async () => {
      await seed(memory, again);
      return [TASK];
    };
    const { sweep } = await scene({ at: LATER, ports: { store: memory, commands: { publish } } });
    await sweep();
    expect(await memory.get(stepItemKey(RUN_ID, 'Reserve'))).toEqual(again);
  });
});

describe('a held run', () => {
  const held = aRun({ status: 'held', cause: { execution: 'FAILED' } });

  test('with nothing dead goes on', async () => {
    const { sweep, runNow, started } = await scene({ run: held, steps: [aDoneStep()] });
    expect(await sweep()).toMatchObject({ checked: 1, held: 0 });
    expect(await runNow()).toMatchObject({ status: 'running', execution: 2, resumes: 1 });
    expect(started().map(({ name }) => name)).toEqual([`${RUN_ID}-2`]);
  });

  test.each<[string, RunItem, StepItem[]]>([
    ['with a dead task', held, [aDeadStep()]],
    ['stopped by hand', { ...held, cause: { execution: 'ABORTED' } }, []],
    ['of another definition', { ...held, definition: 'd0' }, []],
    ['resumed five times', { ...held, resumes: 5 }, []],
  ])('%s stays held, and is counted', async (_what, run, steps) => {
    const { sweep, runNow, started, answers } = await scene({ run, steps });
    expect(await sweep()).toMatchObject({ checked: 1, held: 1 });
    expect(await runNow()).toMatchObject({ status: 'held', execution: 1, checks: 1 });
    expect(started()).toEqual([]);
    expect(answers.accepted).toEqual([]);
  });

  test('that somebody else resumes at the same time is resumed once', async () => {
    const memory = memoryStore();
    await seed(memory, held);
    const store = unreliableStore(memory, {
      before: ({ name, number }) =>
        name === 'update' && number === 1 ? memory.update(resumeRunOf(held, true, DUE)) : undefined,
    });
    const { sweep, started } = await scene({ run: held, ports: { store } });
    expect(await sweep()).toMatchObject({ checked: 1, held: 0 });
    expect(started()).toEqual([]);
    expect(memory.items()).toMatchObject([{ execution: 2, resumes: 1 }]);
  });
});

test('what is published again is what dispatch would publish', async () => {
  const { sweep, commands } = await scene({ steps: [aStep()], at: T0 + 3 * MINUTE });
  await sweep();
  expect(commands.taken[0]).toMatchObject({
    deadline: new Date(T0 + aDispatch().timeoutSeconds * SECOND).toISOString(),
  });
});
