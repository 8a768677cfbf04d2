import { describe, expect, test } from 'vitest';
import type { RunItem, StepItem } from '#core/items.ts';
import { definitionChanged, MAX_RESUMES, resumeRun, startExecution, whyNotResumed } from '#core/resume.ts';
import { aDeadStep, aDoneStep, aRun, aStep, DEPLOYED, MINUTE, RUN_ID, seed, T0 } from '#test/examples.ts';
import { manualClock } from '#test/memory/determinate.ts';
import { memoryExecutions } from '#test/memory/state-machines.ts';
import { memoryStore } from '#test/memory/store.ts';

const held = aRun({ status: 'held', cause: { execution: 'FAILED' } });

describe('whyNotResumed', () => {
  test.each<[string, RunItem, StepItem[], string | undefined]>([
    ['held, with nothing dead', held, [aDoneStep(), aStep()], undefined],
    ['held without a cause', aRun({ status: 'held' }), [], undefined],
    ['timed out', { ...held, cause: { execution: 'TIMED_OUT' } }, [aStep({ status: 'claimed' })], undefined],
    ['running', aRun(), [], 'the run is running'],
    ['closed', aRun({ status: 'failed' }), [], 'the run is failed'],
    ['stopped by hand', { ...held, cause: { execution: 'ABORTED' } }, [], 'stopped by hand'],
    ['a dead task', held, [aDoneStep(), aDeadStep()], 'task Reserve is dead: fix its cause and replay it'],
    ['resumed 4 times', { ...held, resumes: MAX_RESUMES - 1, updatedAt: 0 }, [], undefined],
    [
      'resumed 5 times',
      { ...held, resumes: MAX_RESUMES, updatedAt: 0 },
      [],
      'resumed 5 times already: resume it by hand',
    ],
  ])('%s', (_what, run, steps, why) => {
    const reason = whyNotResumed(run, steps, T0);
    if (why === undefined) expect(reason).toBeUndefined();
    else expect(reason).toContain(why);
  });

  test.each([
    [0, 0],
    [1, 1],
    [2, 2],
    [3, 4],
    [4, 8],
  ])('after %i resumes, the next one is due %i minutes after the run was held', (resumes, minutes) => {
    const run = { ...held, resumes };
    const due = run.updatedAt + minutes * MINUTE;
    expect(whyNotResumed(run, [], due)).toBeUndefined();
    if (minutes > 0) expect(whyNotResumed(run, [], due - 1)).toBe('its next automatic resume is not due yet');
  });
});

test('definitionChanged shows both definitions, and nothing when they are the same', () => {
  expect(definitionChanged(held, DEPLOYED)).toBeUndefined();
  expect(definitionChanged({ ...held, definition: 'd0' }, DEPLOYED)).toContain('(d0 then, d1 now)');
});

test('startExecution names the execution after the run and hands over no payload', async () => {
  const executions = memoryExecutions();
  expect(await startExecution(executions, aRun({ execution: 3 }), DEPLOYED)).toBe('started');
  expect(await startExecution(executions, aRun({ execution: 3 }), DEPLOYED)).toBe('exists');
  expect(executions.started).toEqual([
    {
      stateMachineArn: DEPLOYED.stateMachineArn,
      name: `${RUN_ID}-3`,
      input: `{"runId":"${RUN_ID}","execution":3}`,
    },
  ]);
});

describe('resumeRun', () => {
  const scene = async (run: RunItem) => {
    const store = memoryStore();
    await seed(store, run);
    const executions = memoryExecutions();
    const ports = { store, executions, clock: manualClock(T0 + MINUTE) };
    return { store, executions, resume: (automatic: boolean) => resumeRun(ports, held, DEPLOYED, automatic) };
  };

  test('sets the run running under the next number, then starts that execution', async () => {
    const { store, executions, resume } = await scene(held);
    expect(await resume(true)).toBe('resumed');
    expect(store.items()[0]).toMatchObject({ status: 'running', execution: 2, resumes: 1 });
    expect(executions.started.map(({ name }) => name)).toEqual([`${RUN_ID}-2`]);
  });

  test("an operator's does not count", async () => {
    const { store, resume } = await scene(held);
    await resume(false);
    expect(store.items()[0]).toMatchObject({ status: 'running', resumes: 0 });
  });

  test('a run that somebody else changed first is left alone', async () => {
    const { store, executions, resume } = await scene(aRun({ execution: 2 }));
    expect(await resume(true)).toBe('lost');
    expect(store.items()).toEqual([aRun({ execution: 2 })]);
    expect(executions.started).toEqual([]);
  });

  test('a start that was throttled leaves the run running: the sweeper starts it', async () => {
    const { store, executions, resume } = await scene(held);
    executions.throttle(true);
    expect(await resume(true)).toBe('resumed');
    expect(store.items()[0]).toMatchObject({ status: 'running', execution: 2 });
    expect(executions.started).toEqual([]);
  });
});

test('a held run with a task whose outcome is not known waits for a word', () => {
  const step = aDeadStep({ reason: 'unknown', atMostOnce: true });
  expect(whyNotResumed(held, [step], held.updatedAt)).toContain('edow task resolve');
});
