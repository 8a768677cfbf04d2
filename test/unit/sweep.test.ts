import { describe, expect, test } from 'vitest';
import { PortUnavailable } from '#core/errors.ts';
import { type RunItem, runKey, type StepItem } from '#core/items.ts';
import { eventOf } from '#core/relay.ts';
import { FIRST_CHECK_MS, RUN_EVENTS, resumeRunOf, runOutbox } from '#core/run-changes.ts';
import type { SweepPorts } from '#core/sweep.ts';
import { aDeadStep, aDoneStep, aRun, DEPLOYED, MINUTE, RUN_ID, SECOND, seed, T0 } from '#test/examples.ts';
import { memoryExecutions } from '#test/memory/state-machines.ts';
import { memoryStore } from '#test/memory/store.ts';
import { DUE, sweepBench } from '#test/sweep-bench.ts';
import { unreliableStore } from '#test/unreliable-store.ts';

describe('a sweep', () => {
  test('looks at runs that are due, in every shard, and makes their next look later', async () => {
    const { memory, sweep, runNow } = await sweepBench({});
    for (let shard = 0; shard < 16; shard += 1) {
      const runId = RUN_ID.replace(/..$/, String(shard + 10));
      await seed(memory, aRun({ ...runKey(runId), runId, openShard: `OPEN#${shard}` }));
    }
    expect(await sweep()).toEqual({ checked: 17, failed: 0, held: 0, ended: 0, left: false });
    expect(await runNow()).toMatchObject({ checks: 1, checkAt: DUE + 4 * MINUTE, seq: 1 });
    expect(await sweep()).toEqual({ checked: 0, failed: 0, held: 0, ended: 0, left: false });
  });

  test('tells again what an open run lacks', async () => {
    const run = aRun({ outbox: runOutbox(aRun(), RUN_EVENTS.started, {}, T0 - SECOND) });
    const { sweep, retold, runNow } = await sweepBench({ run });
    await sweep();
    expect(retold.map((image) => eventOf(image)?.id)).toEqual([`${RUN_ID}:1`]);
    expect(await runNow()).toMatchObject({ openShard: 'OPEN#7', checks: 1 });
  });

  test('leaves runs alone that are not due', async () => {
    const { sweep, runNow, answers } = await sweepBench({ at: DUE - 1, steps: [aDoneStep()] });
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
    const { memory, sweep } = await sweepBench({});
    await many(memory, 201, [0, 1]);
    expect(await sweep()).toEqual({ checked: 200, failed: 0, held: 0, ended: 0, left: true });
    expect(await sweep()).toEqual({ checked: 2, failed: 0, held: 0, ended: 0, left: false });
  });

  test('of 200 runs leaves none', async () => {
    const { memory, sweep } = await sweepBench({});
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
    const { sweep, clock } = await sweepBench({ ports: { store } });
    let checked = 0;
    for (let minute = 0; minute < 16 && checked === 0; minute += 1) {
      ({ checked } = await sweep());
      clock.pass(MINUTE);
    }
    expect(checked).toBe(1);
  });

  test('goes on after a run that could not be checked, which stays due', async () => {
    const broken = RUN_ID.replace(/.$/, '8');
    const { memory, sweep, log } = await sweepBench({ ports: {} });
    await seed(memory, aRun({ ...runKey(broken), runId: broken, openShard: 'OPEN#0' }));
    const store = unreliableStore(memory, {
      before: ({ key }) =>
        key === `RUN#${broken}` ? Promise.reject(new PortUnavailable('slow')) : undefined,
    });
    const other = await sweepBench({ ports: { store } });
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
    const { sweep } = await sweepBench({ ports: { store } });
    expect(await sweep()).toEqual({ checked: 1, failed: 0, held: 0, ended: 0, left: false });
    expect(memory.items()).toEqual([]);
  });

  test('a run of a workflow that is not deployed is told, and looked at again later', async () => {
    const { sweep, runNow, log, started } = await sweepBench({
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
    const { sweep, memory, runNow, started } = await sweepBench({ run: ended, execution: undefined });
    expect(await sweep()).toMatchObject({ checked: 1 });
    expect(started()).toEqual([]);
    expect(await runNow()).toMatchObject({ status: 'succeeded' });
    expect(memory.items()).toHaveLength(1);
  });
});

describe('a running run', () => {
  test('that was accepted but never started is started', async () => {
    const { sweep, started } = await sweepBench({ execution: undefined });
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
    const { sweep, started, runNow } = await sweepBench({ run: told, execution: undefined, ports });
    expect(await sweep()).toMatchObject({ checked: 0, failed: 1 });
    expect(started().map(({ name }) => name)).toEqual([RUN_ID]);
    expect(await runNow()).toEqual(told);
  });

  test('is told of though its execution cannot be asked for, and stays due', async () => {
    const executions = { ...memoryExecutions(), describe: away };
    const { sweep, retold, runNow } = await sweepBench({ run: told, ports: { executions } });
    expect(await sweep()).toMatchObject({ checked: 0, failed: 1 });
    expect(retold).toHaveLength(1);
    expect(await runNow()).toEqual(told);
  });

  test('that was resumed but never started is started, too', async () => {
    const { sweep, started } = await sweepBench({ run: aRun({ execution: 2 }), execution: undefined });
    await sweep();
    expect(started().map(({ name }) => name)).toEqual([`${RUN_ID}-2`]);
  });

  test('whose execution has ended is closed', async () => {
    const execution = { status: 'SUCCEEDED', output: '{"ok":true}' } as const;
    const { sweep, runNow, stepNow } = await sweepBench({ execution, steps: [aDoneStep()] });
    expect(await sweep()).toMatchObject({ checked: 1, held: 0 });
    const run = await runNow();
    expect(run).toMatchObject({ status: 'succeeded', output: '{"ok":true}' });
    expect(run).toMatchObject({ openShard: 'ENDED#3', checkAt: DUE + FIRST_CHECK_MS });
    expect(await stepNow()).toHaveProperty('expiresAt');
  });

  test('whose execution has failed is held, and counted', async () => {
    const execution = { status: 'FAILED', error: 'TaskFailed' } as const;
    const { sweep, runNow } = await sweepBench({ execution, steps: [aDeadStep()] });
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
    const { sweep, runNow, stepNow } = await sweepBench({
      run: aRun({ status: 'held' }),
      steps: [aDeadStep({ reason: 'permanent', failure })],
    });
    expect(await sweep()).toMatchObject({ checked: 1, held: 0 });
    expect(await runNow()).toMatchObject({ status: 'failed', cause: { error: 'TaskRefused' } });
    expect(await stepNow()).toMatchObject({ status: 'cancelled' });
  });
});
describe('a held run', () => {
  const held = aRun({ status: 'held', cause: { execution: 'FAILED' } });

  test('with nothing dead goes on', async () => {
    const { sweep, runNow, started } = await sweepBench({ run: held, steps: [aDoneStep()] });
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
    const { sweep, runNow, started, answers } = await sweepBench({ run, steps });
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
    const { sweep, started } = await sweepBench({ run: held, ports: { store } });
    expect(await sweep()).toMatchObject({ checked: 1, held: 0 });
    expect(started()).toEqual([]);
    expect(memory.items()).toMatchObject([{ execution: 2, resumes: 1 }]);
  });
});
