import { describe, expect, test } from 'vitest';
import { PortUnavailable } from '#core/errors.ts';
import type { Attempt, StepItem } from '#core/items.ts';
import { runView } from '#core/run-view.ts';
import { aDeadStep, aDoneStep, aRun, aStep, MINUTE, RUN_ID, SECOND, T0 } from '#test/examples.ts';
import { memoryPayloads } from '#test/memory/payloads.ts';

const iso = (time: number): string => new Date(time).toISOString();
const payloads = memoryPayloads();
const stepOf = async (step: StepItem) => (await runView(payloads, aRun(), [step])).steps[0];
const attempt = (fence: number): Attempt => ({
  fence,
  startedAt: T0 + fence,
  endedAt: T0 + fence + 1,
  class: 'retryable',
  name: 'Timeout',
  message: 'no answer',
  worker: 'v1',
});

test('a run that succeeded shows its output, its steps in the order of their first entry, and no key or token', async () => {
  const run = aRun({
    status: 'succeeded',
    output: '{"ok":true}',
    closedAt: T0 + MINUTE,
    updatedAt: T0 + MINUTE,
  });
  const view = await runView(payloads, run, [
    aDoneStep({ stepKey: 'Second', firstEntered: T0 + 2 }),
    aDoneStep({ stepKey: 'First', firstEntered: T0 + 1 }),
  ]);
  expect(view).toMatchObject({
    id: RUN_ID,
    workflow: 'order',
    status: 'succeeded',
    execution: 1,
    correlationId: 'corr-1',
    startedAt: iso(T0),
    updatedAt: iso(T0 + MINUTE),
    closedAt: iso(T0 + MINUTE),
    output: { ok: true },
  });
  expect(view.steps.map(({ step }) => step)).toEqual(['First', 'Second']);
  expect(view).not.toHaveProperty('cause');
  expect(JSON.stringify(view)).not.toMatch(/token-1|owner-1|RUN#/);
});

test('an open run shows neither output nor close; a held one its cause', async () => {
  const open = await runView(payloads, aRun(), []);
  for (const absent of ['output', 'closedAt', 'cause']) expect(open).not.toHaveProperty(absent);
  const cause = { execution: 'FAILED', error: 'TaskFailed' };
  expect(await runView(payloads, aRun({ status: 'held', cause }), [])).toMatchObject({
    status: 'held',
    cause,
  });
});

test('a large output is read from the bucket', async () => {
  const outputRef = await payloads.put('acme/run/output.json', '{"large":1}');
  expect((await runView(payloads, aRun({ status: 'succeeded', outputRef }), [])).output).toEqual({
    large: 1,
  });
});

test('what was erased is left out; what cannot be read just now is no reason to leave it out', async () => {
  const ref = 's3://payloads/gone#0';
  const run = aRun({ status: 'succeeded', outputRef: ref });
  const { result: _, ...done } = aDoneStep({ resultRef: ref });
  const view = await runView(payloads, run, [done]);
  expect(view).not.toHaveProperty('output');
  expect(view.steps[0]).not.toHaveProperty('result');
  expect(view.steps[0]).toMatchObject({ status: 'done' });
  const down = { ...payloads, get: () => Promise.reject(new PortUnavailable('down')) };
  await expect(runView(down, run, [])).rejects.toThrow('down');
});

describe('a step', () => {
  test('whose older attempts were dropped does not call them lost', async () => {
    const attempts = Array.from({ length: 20 }, (_, index) => attempt(index + 6));
    const step = await stepOf(aStep({ status: 'retrying', fence: 26, attempts }));
    expect(step?.attempts.map(({ number, outcome }) => `${number} ${outcome}`)).toEqual([
      ...attempts.map(({ fence }) => `${fence} failed`),
      '26 lost',
    ]);
  });

  test('that is done shows its whole result and its end', async () => {
    expect(await stepOf(aDoneStep())).toEqual({
      step: 'Reserve',
      taskId: `${RUN_ID}/Reserve/0`,
      type: 'inventory.stock.reserve',
      status: 'done',
      started: 1,
      enteredAt: iso(T0),
      deadline: iso(T0 + 10 * MINUTE),
      endedAt: iso(T0 + SECOND),
      attempts: [],
      result: { reservationId: 'r-1', customer: 'Ada' },
    });
  });

  test('that is dead shows why, and no result', async () => {
    const view = await stepOf(aDeadStep());
    expect(view).toMatchObject({
      status: 'dead',
      reason: 'exhausted',
      endedAt: iso(T0 + MINUTE),
      failure: { error: 'Timeout', message: 'no answer', fingerprint: 'f00d' },
    });
    expect(view).not.toHaveProperty('result');
  });

  test('that was revived after its death has not ended', async () => {
    for (const status of ['claimed', 'retrying', 'cancelled'] as const)
      expect(await stepOf(aDeadStep({ status }))).not.toHaveProperty('endedAt');
    expect(await stepOf(aDeadStep({ status: 'done', result: '1', doneAt: T0 + 5 }))).toMatchObject({
      endedAt: iso(T0 + 5),
    });
  });

  test('that waits shows no end, reason or failure', async () => {
    const view = await stepOf(aStep());
    for (const absent of ['endedAt', 'reason', 'failure', 'result']) expect(view).not.toHaveProperty(absent);
    expect(view?.attempts).toEqual([]);
  });
});

describe('attempts', () => {
  const outcomes = async (step: StepItem) =>
    (await stepOf(step))?.attempts.map(({ number, outcome }) => [number, outcome]);

  test('a try on record shows what failed', async () => {
    const view = await stepOf(aStep({ status: 'retrying', fence: 1, attempts: [attempt(1)] }));
    expect(view?.attempts).toEqual([
      {
        number: 1,
        outcome: 'failed',
        class: 'retryable',
        error: 'Timeout',
        message: 'no answer',
        startedAt: iso(T0 + 1),
        endedAt: iso(T0 + 2),
        worker: 'v1',
      },
    ]);
  });

  test('a try without a record is lost: its worker never came back', async () => {
    const step = aDeadStep({ fence: 3, attempts: [attempt(1), attempt(3)] });
    expect(await outcomes(step)).toEqual([
      [1, 'failed'],
      [2, 'lost'],
      [3, 'failed'],
    ]);
    expect((await stepOf(step))?.attempts[1]).toEqual({ number: 2, outcome: 'lost' });
  });

  test('the try that succeeded, or still runs, did not fail', async () => {
    expect(await outcomes(aDoneStep({ fence: 2, attempts: [attempt(1)] }))).toEqual([[1, 'failed']]);
    expect(await outcomes(aStep({ status: 'claimed', fence: 2 }))).toEqual([[1, 'lost']]);
  });
});
