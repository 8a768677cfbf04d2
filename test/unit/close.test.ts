import { describe, expect, test } from 'vitest';
import { closer, type EndedExecution, verdictOnFailure } from '#core/close.ts';
import { dispatcher } from '#core/dispatch.ts';
import type { Command } from '#core/envelope.ts';
import {
  asRun,
  asStep,
  type RunItem,
  runKey,
  type StepItem,
  splitPartition,
  stepItemKey,
} from '#core/items.ts';
import { expiryOf, resumeRunOf } from '#core/run-changes.ts';
import type { Store } from '#core/store.ts';
import { aDeadStep, aDispatch, aDoneStep, aRun, aStep, MINUTE, RUN_ID, seed, T0 } from '#test/examples.ts';
import { manualClock } from '#test/memory/determinate.ts';
import { memoryLog } from '#test/memory/log.ts';
import { memoryPayloads } from '#test/memory/payloads.ts';
import { memoryAnswers } from '#test/memory/state-machines.ts';
import { memoryStore } from '#test/memory/store.ts';
import { memoryTopic } from '#test/memory/topic.ts';
import { unreliableStore } from '#test/unreliable-store.ts';

const NOW = T0 + 5 * MINUTE;
const failed: EndedExecution = {
  status: 'FAILED',
  error: 'TaskFailed',
  cause: 'mail to ada@example.com failed',
};
const succeeded: EndedExecution = { status: 'SUCCEEDED', output: '{"reserve":{}}' };
const refusal = aDeadStep({
  failure: { class: 'permanent', name: 'Declined', message: 'no', fingerprint: 'f', refused: true },
});
const at = (stepKey: string, step: StepItem): StepItem => ({
  ...step,
  ...stepItemKey(RUN_ID, stepKey),
  stepKey,
});

async function scene(run: RunItem | undefined, ...steps: StepItem[]) {
  const memory = memoryStore();
  const payloads = memoryPayloads();
  const log = memoryLog();
  await seed(memory, ...(run ? [run] : []), ...steps);
  const close = (ended: EndedExecution, { execution = 1, store = memory as Store, later = 0 } = {}) =>
    closer({ store, payloads, clock: manualClock(NOW + later) }).close(RUN_ID, execution, ended, log);
  const now = async () => splitPartition(await memory.partition(runKey(RUN_ID).PK));
  return { memory, payloads, log, close, now };
}

describe('verdictOnFailure', () => {
  const dead = at('B', aDeadStep());
  test.each<[string, EndedExecution['status'], StepItem[], 'failed' | 'held']>([
    ['a refusal ends the run', 'FAILED', [aDoneStep(), refusal], 'failed'],
    ['a refusal beside another death, too', 'FAILED', [dead, refusal], 'failed'],
    ['a refusal whose execution was stopped, too', 'ABORTED', [refusal], 'failed'],
    ['any other dead task holds it', 'FAILED', [aDoneStep(), dead], 'held'],
    ['a task that never finished holds it', 'TIMED_OUT', [aDoneStep(), at('B', aStep())], 'held'],
    ['a time-out of the whole execution holds it', 'TIMED_OUT', [aDoneStep()], 'held'],
    ['a stop by hand holds it', 'ABORTED', [aDoneStep()], 'held'],
    ['a failure with every task done is the own end of the workflow', 'FAILED', [aDoneStep()], 'failed'],
    ['so is one without a task', 'FAILED', [], 'failed'],
    [
      'a refusal that was revived and done since is none',
      'FAILED',
      [{ ...refusal, status: 'done' }, dead],
      'held',
    ],
  ])('%s', (_what, status, steps, verdict) => {
    expect(verdictOnFailure(status, steps)).toBe(verdict);
  });
});

describe('a succeeded execution', () => {
  test('ends its run, with its output', async () => {
    const { close, now, log } = await scene(aRun(), aDoneStep());
    expect(await close(succeeded)).toMatchObject({
      status: 'succeeded',
      output: '{"reserve":{}}',
      closedAt: NOW,
    });
    expect((await now()).run).toMatchObject({ status: 'succeeded', outbox: { type: 'edow.run.succeeded' } });
    expect(JSON.stringify(log.lines)).not.toContain('reserve');
  });

  test('a large output goes to the bucket', async () => {
    const { close, payloads } = await scene(aRun());
    const output = JSON.stringify({ text: 'x'.repeat(9000) });
    const run = await close({ status: 'SUCCEEDED', output });
    expect(run).not.toHaveProperty('output');
    expect(await payloads.get(run?.outputRef ?? '', 'acme')).toBe(output);
    expect(run?.outputRef).toContain(`acme/${RUN_ID}/output.json`);
  });

  test('no output is an empty one', async () => {
    const { close } = await scene(aRun());
    expect(await close({ status: 'SUCCEEDED' })).toMatchObject({ output: '{}' });
  });

  test('ends a held run too: its execution was redriven', async () => {
    const { close } = await scene(aRun({ status: 'held', cause: { execution: 'FAILED' } }));
    const run = await close(succeeded);
    expect(run).toMatchObject({ status: 'succeeded' });
    expect(run).not.toHaveProperty('cause');
  });

  test('what never finished is cancelled, the dead too, and all expires with the run', async () => {
    const { close, now } = await scene(
      aRun(),
      at('A', aDoneStep()),
      at('B', aDeadStep()),
      at('C', aStep()),
      at('D', aStep({ status: 'claimed', owner: 'w', fence: 1 })),
    );
    await close(succeeded);
    const { run, steps } = await now();
    expect(steps.map(({ stepKey, status }) => [stepKey, status])).toEqual([
      ['A', 'done'],
      ['B', 'cancelled'],
      ['C', 'cancelled'],
      ['D', 'cancelled'],
    ]);
    for (const step of steps) expect(step.expiresAt).toBe(expiryOf(NOW));
    expect(run?.expiresAt).toBe(expiryOf(NOW));
  });
});

describe('a failed execution', () => {
  test('holds its run, with a cause that is redacted, and leaves its tasks for a replay', async () => {
    const { close, now, log } = await scene(aRun(), aDeadStep());
    const run = await close(failed);
    expect(run).toMatchObject({
      status: 'held',
      cause: { execution: 'FAILED', error: 'TaskFailed', message: 'mail to <address> failed' },
    });
    expect((await now()).steps).toEqual([aDeadStep()]);
    expect(JSON.stringify(log.lines)).not.toContain('ada@example.com');
  });

  test('an error name made of a payload is in no log line', async () => {
    const { close, log } = await scene(aRun(), aDeadStep());
    await close({ status: 'FAILED', error: 'card 4111111111111111' });
    expect(log.lines).toContainEqual(expect.objectContaining({ message: 'run is held' }));
    expect(JSON.stringify(log.lines)).not.toContain('4111');
  });

  test('may have neither error nor cause', async () => {
    const { close } = await scene(aRun(), aDeadStep());
    expect((await close({ status: 'ABORTED' }))?.cause).toEqual({ execution: 'ABORTED' });
  });

  test('of a refusal ends the run as failed', async () => {
    const { close, now } = await scene(aRun(), refusal);
    expect(await close({ status: 'FAILED', error: 'TaskRefused' })).toMatchObject({
      status: 'failed',
      cause: { execution: 'FAILED', error: 'TaskRefused' },
      outbox: { type: 'edow.run.failed' },
    });
    expect((await now()).steps[0]).toMatchObject({ status: 'cancelled', expiresAt: expiryOf(NOW) });
  });

  test('told twice holds once', async () => {
    const { close, now } = await scene(aRun(), aDeadStep());
    await close(failed);
    const { run } = await now();
    expect(await close(failed, { later: MINUTE })).toEqual(run);
  });
});

describe('a run that has moved on is left alone', () => {
  test('by the end of an older execution', async () => {
    const { close, now, memory } = await scene(aRun({ status: 'held' }), aDeadStep());
    await memory.update(resumeRunOf(aRun(), true, NOW));
    const before = await now();
    expect(await close(failed)).toEqual(before.run);
    expect(await close(succeeded)).toEqual(before.run);
    expect(await now()).toEqual(before);
  });

  test.each(['succeeded', 'failed'] as const)('when it has %s', async (status) => {
    const { close } = await scene(aRun({ status, closedAt: T0, expiresAt: expiryOf(T0) }));
    expect(await close(failed)).toMatchObject({ status, closedAt: T0 });
    expect(await close(succeeded)).toMatchObject({ status, closedAt: T0 });
  });

  test.each(['succeeded', 'failed'] as const)(
    'when it has %s and nobody looks at it any more: the sweeper looks once again, for what a redrive brought late',
    async (status) => {
      const {
        openShard: _,
        checkAt: _at,
        ...left
      } = aRun({ status, closedAt: T0, expiresAt: expiryOf(T0), checks: 3 });
      const { close, now, memory } = await scene(left);
      await close(failed);
      const { run } = await now();
      expect(run).toMatchObject({
        status,
        closedAt: T0,
        checkAt: NOW + 2 * MINUTE,
        checks: 0,
        seq: aRun().seq,
      });
      expect(await memory.openRuns(run?.openShard ?? '', NOW + 2 * MINUTE, 10)).toEqual([runKey(RUN_ID)]);
      // The same end once more changes nothing.
      await close(failed, { later: MINUTE });
      expect((await now()).run).toEqual(run);
    },
  );

  test('when it changes between the look and the write: what it is now is the answer', async () => {
    const { close, memory, now } = await scene(aRun({ status: 'held' }), aStep());
    const store = unreliableStore(memory, {
      before: ({ name, number }) =>
        name === 'update' && number === 1 ? memory.update(resumeRunOf(aRun(), true, NOW)) : undefined,
    });
    expect(await close(succeeded, { store })).toMatchObject({ status: 'running', execution: 2 });
    expect((await now()).steps).toEqual([aStep()]);
  });

  test('when it is not on record, which is said', async () => {
    const { close, log } = await scene(undefined);
    expect(await close(failed)).toBeUndefined();
    expect(log.lines).toContainEqual(expect.objectContaining({ level: 'error' }));
  });

  test('when it vanishes before it leaves the index of open runs: what was seen last is the answer', async () => {
    const { close, memory } = await scene(aRun({ status: 'succeeded', closedAt: T0 }));
    const gone: Store = { ...memory, update: async () => ({ written: false, item: undefined }) };
    expect(await close(succeeded, { store: gone })).toMatchObject({ status: 'succeeded', closedAt: T0 });
  });

  test('when it vanishes between the look and the write', async () => {
    const { close, memory } = await scene(aRun());
    const gone: Store = { ...memory, update: async () => ({ written: false, item: undefined }) };
    expect(await close(succeeded, { store: gone })).toBeUndefined();
    expect(await close({ status: 'ABORTED' }, { store: gone })).toBeUndefined();
  });
});

describe('however it is cut short, no task is left that may begin', () => {
  test('a close that died after the write of the run is finished by the next one', async () => {
    const { close, memory, now } = await scene(aRun(), at('A', aDoneStep()), at('B', aStep()));
    const dying = unreliableStore(memory, {
      before: ({ key }) => (key === 'STEP#A' ? Promise.reject(new Error('killed')) : undefined),
    });
    await expect(close(succeeded, { store: dying })).rejects.toThrow('killed');
    expect((await now()).steps.map(({ status }) => status)).toEqual(['done', 'ready']);
    expect((await now()).run).toHaveProperty('openShard');
    await close(succeeded, { later: 10 * MINUTE });
    const { run, steps } = await now();
    expect(steps.map(({ status }) => status)).toEqual(['done', 'cancelled']);
    for (const step of steps) expect(step.expiresAt).toBe(run?.expiresAt);
    // The sweeper sees that all of it is told.
    expect(run).toMatchObject({ openShard: expect.stringMatching(/^ENDED#[0-3]$/) });
  });

  test('a step that is entered while its run closes is cancelled, or its dispatch sees the closed run', async () => {
    // Every point of the close at which a dispatch of a parallel branch may come.
    for (const name of ['partition', 'update'] as const) {
      for (const number of [1, 2, 3]) {
        const { close, memory, payloads, now, log } = await scene(aRun(), at('A', refusal));
        const commands = memoryTopic<Command>();
        const answers = memoryAnswers();
        answers.open('token-B');
        const { dispatch } = dispatcher({
          store: memory,
          commands,
          answers,
          payloads,
          clock: manualClock(NOW),
        });
        const store = unreliableStore(memory, {
          before: (call) =>
            call.name === name && call.number === number
              ? dispatch(aDispatch({ step: 'B', token: 'token-B' }), log)
              : undefined,
        });
        await close(failed, { store });
        const { run, steps } = await now();
        expect(run?.status).toBe('failed');
        const entered = steps.find(({ stepKey }) => stepKey === 'B');
        if (entered === undefined) continue;
        const refused = answers.accepted.some(({ error }) => error === 'RunClosed');
        expect([name, number, entered.status === 'cancelled' || refused]).toEqual([name, number, true]);
      }
    }
  });

  test('a task that is done while its run closes keeps its result, and expires', async () => {
    const { close, memory, now } = await scene(aRun(), aStep({ status: 'claimed', owner: 'w', fence: 1 }));
    const store = unreliableStore(memory, {
      before: ({ name, key }) =>
        name === 'update' && key.startsWith('STEP#') ? seed(memory, aDoneStep()) : undefined,
    });
    await close(succeeded, { store });
    expect((await now()).steps[0]).toMatchObject({ status: 'done', expiresAt: expiryOf(NOW) });
  });
});

test('what was returned is what is stored', async () => {
  const { close, memory } = await scene(aRun(), aStep());
  const run = await close(succeeded);
  expect(asRun((await memory.get(runKey(RUN_ID))) ?? ({} as never))).toEqual(run);
  expect(asStep((await memory.get(stepItemKey(RUN_ID, 'Reserve'))) ?? ({} as never)).status).toBe(
    'cancelled',
  );
});
