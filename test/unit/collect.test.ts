import { describe, expect, test } from 'vitest';
import { reviveOf } from '#core/claim.ts';
import { type CollectPorts, collector } from '#core/collect.ts';
import { PortUnavailable } from '#core/errors.ts';
import { asRun, asStep, type RunItem, runKey, type StepItem, stepItemKey } from '#core/items.ts';
import {
  aClaim,
  aDeadStep,
  aDoneStep,
  aRun,
  aStep,
  DEPLOYED,
  MINUTE,
  RUN_ID,
  SECOND_EXECUTION,
  seed,
  T0,
} from '#test/examples.ts';
import { manualClock } from '#test/memory/determinate.ts';
import { memoryLog } from '#test/memory/log.ts';
import { memoryAnswers, memoryExecutions } from '#test/memory/state-machines.ts';
import { memoryStore } from '#test/memory/store.ts';

async function scene(run: RunItem | undefined, step: StepItem, more: Partial<CollectPorts> = {}) {
  const memory = memoryStore();
  await seed(memory, ...(run ? [run] : []), step);
  const answers = memoryAnswers();
  answers.open('token-1');
  const executions = memoryExecutions();
  const log = memoryLog();
  const { collect } = collector({
    store: memory,
    answers,
    executions,
    clock: manualClock(T0 + 5 * MINUTE),
    workflows: new Map([['order', DEPLOYED]]),
    ...more,
  });
  const stepNow = async () => asStep((await memory.get(stepItemKey(RUN_ID, 'Reserve'))) ?? ({} as never));
  const runNow = async () => asRun((await memory.get(runKey(RUN_ID))) ?? ({} as never));
  return { memory, answers, executions, log, stepNow, runNow, collect: (seen = step) => collect(seen, log) };
}

describe('a task that is done', () => {
  test('answers its token with what states may see', async () => {
    const { collect, answers, stepNow, log } = await scene(aRun(), aDoneStep());
    await collect();
    expect(answers.accepted).toEqual([{ token: 'token-1', output: '{"reservationId":"r-1"}' }]);
    expect(await stepNow()).toEqual(aDoneStep());
    expect(JSON.stringify(log.lines)).not.toMatch(/token-1|reservationId/);
  });

  test('and exposes nothing, answers with an empty object', async () => {
    const { exposed: _, ...silent } = aDoneStep();
    const { collect, answers } = await scene(aRun(), silent);
    await collect();
    expect(answers.accepted).toEqual([{ token: 'token-1', output: '{}' }]);
  });

  test('twice, or too late: the step is marked for the close of the run, and the run is left alone', async () => {
    const { collect, stepNow, runNow, answers } = await scene(aRun(), aDoneStep());
    answers.close('token-1');
    await collect();
    expect(await stepNow()).toEqual(aDoneStep({ unaccepted: true }));
    expect(await runNow()).toEqual(aRun());
  });

  test('whose step was entered again since is not marked: dispatch answers the new token', async () => {
    const entered = aDoneStep({ token: 'token-2', execution: SECOND_EXECUTION });
    const { collect, stepNow } = await scene(aRun({ execution: 2 }), entered);
    await collect(aDoneStep({ token: 'token-0' }));
    expect(await stepNow()).toEqual(entered);
  });

  test('while the service does not answer is tried again by whoever called', async () => {
    const answers = { ...memoryAnswers(), succeed: () => Promise.reject(new PortUnavailable('throttled')) };
    const { collect } = await scene(aRun(), aDoneStep(), { answers });
    await expect(collect()).rejects.toThrow(PortUnavailable);
  });
});

describe('a task that is dead', () => {
  test('fails its token by name, with a cause that holds no payload', async () => {
    const { collect, answers, log } = await scene(aRun(), aDeadStep());
    await collect();
    expect(answers.accepted).toMatchObject([{ token: 'token-1', error: 'TaskFailed' }]);
    expect(JSON.parse(answers.accepted[0]?.cause ?? '')).toMatchObject({
      reason: 'exhausted',
      fingerprint: 'f00d',
    });
    expect(JSON.stringify(log.lines)).not.toContain('token-1');
  });

  test('of an older execution counts no more, as it was seen', async () => {
    const { collect, answers } = await scene(aRun(), aDeadStep({ execution: SECOND_EXECUTION }));
    await collect();
    expect(answers.accepted).toEqual([]);
  });

  test.each<[string, StepItem]>([
    ['entered again since', aDeadStep({ execution: SECOND_EXECUTION })],
    ['revived since', aStep({ status: 'claimed', fence: 4 })],
    ['done since', aDoneStep()],
  ])('%s counts no more, as it is now', async (_what, stored) => {
    const { collect, answers, stepNow } = await scene(aRun(), stored);
    await collect(aDeadStep());
    expect(answers.accepted).toEqual([]);
    expect(await stepNow()).toEqual(stored);
  });

  test('that is gone counts no more', async () => {
    const { collect, answers } = await scene(aRun(), { ...aDeadStep(), ...stepItemKey(RUN_ID, 'Other') });
    await collect(aDeadStep());
    expect(answers.accepted).toEqual([]);
  });

  test('whose token was answered before changes nothing', async () => {
    const { collect, answers, stepNow, runNow } = await scene(aRun(), aDeadStep());
    answers.close('token-1');
    await collect();
    expect(await stepNow()).toEqual(aDeadStep());
    expect(await runNow()).toEqual(aRun());
  });
});

test.each(['ready', 'claimed', 'retrying', 'cancelled', 'surplus'] as const)(
  'a task that is %s answers nothing',
  async (status) => {
    const { collect, answers, stepNow } = await scene(aRun(), aStep({ status }));
    await collect();
    expect(answers.accepted).toEqual([]);
    expect(await stepNow()).toEqual(aStep({ status }));
  },
);

describe('a held run goes on when what it waited for is done', () => {
  const held = aRun({ status: 'held', cause: { execution: 'FAILED', error: 'TaskFailed' } });
  const healed = aDoneStep({ deaths: 1 });

  test('in a new execution, with the same run and the next number', async () => {
    const { collect, executions, runNow, answers } = await scene(held, healed);
    answers.close('token-1');
    await collect();
    expect(executions.started).toEqual([
      {
        stateMachineArn: DEPLOYED.stateMachineArn,
        name: `${RUN_ID}-2`,
        input: JSON.stringify({ runId: RUN_ID, execution: 2 }),
      },
    ]);
    expect(await runNow()).toMatchObject({ status: 'running', execution: 2, resumes: 1 });
  });

  test.each<[string, StepItem, boolean]>([
    ['a death before, even though the answer was taken', healed, true],
    ['a result after its deadline', aDoneStep({ doneAt: T0 + 11 * MINUTE }), true],
    ['a result at its very deadline is in time', aDoneStep({ doneAt: T0 + 10 * MINUTE }), false],
    ['an answer that was refused', aDoneStep({ token: 'token-old' }), true],
    ['no death, in time, answered: it is not what the run waits for', aDoneStep(), false],
    ['nothing says when: not late', (({ doneAt: _, ...step }) => step)(aDoneStep()), false],
  ])('%s', async (_what, step, resumed) => {
    const { collect, runNow } = await scene(held, step);
    await collect();
    expect((await runNow()).status).toBe(resumed ? 'running' : 'held');
  });

  test.each<[string, RunItem, StepItem[], string]>([
    [
      'another task is dead',
      held,
      [{ ...aDeadStep(), ...stepItemKey(RUN_ID, 'Ship'), stepKey: 'Ship' }],
      'task Ship is dead',
    ],
    [
      'its execution was stopped by hand',
      { ...held, cause: { execution: 'ABORTED' } },
      [],
      'stopped by hand',
    ],
    ['its workflow was changed', { ...held, definition: 'd0' }, [], 'd0 then, d1 now'],
    ['its workflow is not deployed', { ...held, workflow: 'gone' }, [], 'its workflow is not deployed'],
  ])('but not when %s', async (_what, run, more, obstacle) => {
    const { collect, memory, executions, runNow, log } = await scene(run, healed);
    await seed(memory, ...more);
    await collect();
    expect(executions.started).toEqual([]);
    expect(await runNow()).toEqual(run);
    expect(log.lines.map(({ fields }) => fields['obstacle'])).toContainEqual(
      expect.stringContaining(obstacle),
    );
  });

  test('once, when two results come together', async () => {
    const { collect, executions, runNow } = await scene(held, healed);
    await Promise.all([collect(), collect()]);
    expect(executions.started).toHaveLength(1);
    expect(await runNow()).toMatchObject({ execution: 2, resumes: 1 });
  });

  test('a running run, or one that is not on record, stays as it is', async () => {
    const running = await scene(aRun(), healed);
    await running.collect();
    expect(await running.runNow()).toEqual(aRun());
    const none = await scene(undefined, healed);
    await none.collect();
    expect(none.executions.started).toEqual([]);
  });

  test('the whole way: dead, answered, held, redriven, done, resumed', async () => {
    const { memory, collect, runNow, executions } = await scene(held, aDeadStep());
    await collect();
    const revived = await memory.update(reviveOf(aClaim(), aDeadStep()));
    await seed(memory, {
      ...asStep(revived.item ?? ({} as never)),
      status: 'done',
      exposed: '{}',
      doneAt: T0,
    });
    await collect(asStep((await memory.get(stepItemKey(RUN_ID, 'Reserve'))) ?? ({} as never)));
    expect(await runNow()).toMatchObject({ status: 'running', execution: 2 });
    expect(executions.started).toHaveLength(1);
  });
});
