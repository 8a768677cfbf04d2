import { describe, expect, test } from 'vitest';
import { asRun, asStep, type RunItem, type RunStatus, type StepItem, type TaskStatus } from '#core/items.ts';
import {
  checkedRunOf,
  endRunOf,
  expiryOf,
  FIRST_CHECK_MS,
  holdRunOf,
  leaveOpenRunsOf,
  nextCheckMs,
  redrivenRunOf,
  resumeRunOf,
  retirementOf,
  runOutbox,
} from '#core/run-changes.ts';
import type { Item, Update } from '#core/store.ts';
import { applied, holds } from '#core/store-rules.ts';
import { aDeadStep, aDoneStep, aRun, aStep, DEPLOYED, MINUTE, RUN_ID, T0 } from '#test/examples.ts';

const now = T0 + 7 * MINUTE;
const cause = { execution: 'FAILED', error: 'TaskFailed', message: 'no answer' };
const held = aRun({ status: 'held', cause, checks: 3, seq: 2 });
const allowed = (update: Update, run: RunItem): boolean => holds(update.when, run as unknown as Item);
const written = (update: Update, run: RunItem): RunItem => asRun(applied(update, run as unknown as Item));
const STATUSES: RunStatus[] = ['running', 'held', 'succeeded', 'failed'];
/** For which statuses of the run, and only with the execution that was read, a change is allowed. */
const statusesOf = (update: Update): RunStatus[] => {
  for (const status of STATUSES) expect(allowed(update, aRun({ status, execution: 2 }))).toBe(false);
  return STATUSES.filter((status) => allowed(update, aRun({ status })));
};

test('the outbox tells the run as it is after the change', () => {
  const outbox = runOutbox(aRun(), 'edow.run.held', { status: 'held', execution: 2, cause }, now);
  expect(outbox).toMatchObject({
    type: 'edow.run.held',
    time: new Date(now).toISOString(),
    source: 'urn:edow:workflow:order',
    dataschema: 'urn:edow:schema:edow.run.held:1',
    tenant: 'acme',
    correlationid: 'corr-1',
  });
  expect(JSON.parse(outbox.data ?? '')).toEqual({
    runId: RUN_ID,
    workflow: 'order',
    status: 'held',
    execution: 2,
    startedAt: T0,
    updatedAt: now,
    error: 'TaskFailed',
  });
});

describe('endRunOf', () => {
  const succeeded = endRunOf(aRun(), { status: 'succeeded', output: '{"a":1}' }, now);

  test('closes the run and tells it; it stays in the index, apart from open runs, until all is told', () => {
    const run = written(succeeded, aRun());
    expect(run).toMatchObject({
      status: 'succeeded',
      output: '{"a":1}',
      closedAt: now,
      updatedAt: now,
      seq: 2,
    });
    expect(run.outbox?.type).toBe('edow.run.succeeded');
    for (const gone of ['outputRef', 'cause']) expect(run).not.toHaveProperty(gone);
    expect(run).toMatchObject({
      openShard: expect.stringMatching(/^ENDED#[0-3]$/),
      checkAt: now + FIRST_CHECK_MS,
      checks: 0,
    });
    const left = written(leaveOpenRunsOf(run), run);
    for (const gone of ['openShard', 'checkAt']) expect(left).not.toHaveProperty(gone);
    expect(left.outbox).toEqual(run.outbox);
  });

  test('all items of a run expire 90 days after its close, in whole seconds', () => {
    expect(written(succeeded, aRun()).expiresAt).toBe(Math.floor(now / 1000) + 90 * 86_400);
    expect(Number.isInteger(expiryOf(now + 0.7))).toBe(true);
  });

  test('a held run may end too; a closed one does not end twice', () => {
    expect(statusesOf(succeeded)).toEqual(['running', 'held']);
  });

  test('a failure keeps its cause, a large output its pointer', () => {
    expect(written(endRunOf(held, { status: 'failed', cause }, now), held)).toMatchObject({
      status: 'failed',
      cause,
    });
    const large = endRunOf(held, { status: 'succeeded', outputRef: 's3://b/k#h' }, now);
    expect(written(large, held)).toMatchObject({ outputRef: 's3://b/k#h' });
    expect(written(large, held)).not.toHaveProperty('cause');
  });
});

describe('holdRunOf', () => {
  const update = holdRunOf(aRun(), cause, now);

  test('keeps the run open and looks at it soon', () => {
    const run = written(update, aRun({ checks: 5 }));
    expect(run).toMatchObject({
      status: 'held',
      cause,
      updatedAt: now,
      checkAt: now + FIRST_CHECK_MS,
      checks: 0,
      seq: 2,
    });
    expect(run).toMatchObject({ openShard: 'OPEN#7', outbox: { type: 'edow.run.held' } });
    expect(run).not.toHaveProperty('closedAt');
  });

  test('only a running run, and not when its execution was redriven since', () => {
    expect(statusesOf(update)).toEqual(['running']);
    expect(allowed(update, aRun({ redrive: 1 }))).toBe(false);
  });
});

describe('resumeRunOf', () => {
  test('goes on under the next execution, of which nothing is known yet', () => {
    const run = written(resumeRunOf(held, true, now), { ...held, redrive: 2 });
    expect(run).toMatchObject({ status: 'running', execution: 2, redrive: 0, resumes: 1, seq: 3, checks: 0 });
    expect(run).toMatchObject({ checkAt: now + FIRST_CHECK_MS, outbox: { type: 'edow.run.resumed' } });
    expect(JSON.parse(run.outbox?.data ?? '')).toMatchObject({ status: 'running', execution: 2 });
    expect(run).not.toHaveProperty('cause');
  });

  test("an operator's resume does not count", () => {
    expect(written(resumeRunOf(held, false, now), held).resumes).toBe(0);
  });

  test('only a held run', () => {
    expect(statusesOf(resumeRunOf(held, true, now))).toEqual(['held']);
  });
});

describe('redrivenRunOf', () => {
  test('runs again under the same execution', () => {
    const run = written(redrivenRunOf(held, 2, now), held);
    expect(run).toMatchObject({ status: 'running', execution: 1, redrive: 2, resumes: 0, seq: 3 });
    expect(run.definition).toBe(DEPLOYED.definition);
  });

  test('only a held run, and only a redrive that it has not met', () => {
    expect(statusesOf(redrivenRunOf(held, 1, now))).toEqual(['held']);
    expect(allowed(redrivenRunOf(held, 1, now), { ...held, redrive: 1 })).toBe(false);
    expect(allowed(redrivenRunOf(held, 0, now), held)).toBe(false);
  });
});

describe('checkedRunOf', () => {
  test('a look tells nothing, and makes the next one later', () => {
    const run = written(checkedRunOf(aRun({ checks: 1 }), now), aRun({ checks: 1 }));
    expect(run).toEqual({ ...aRun(), checks: 2, checkAt: now + 8 * MINUTE });
  });

  test('only a run that has not changed since it was looked at', () => {
    expect(statusesOf(checkedRunOf(aRun(), now))).toEqual(['running']);
    expect(statusesOf(checkedRunOf(held, now))).toEqual(['held']);
  });

  test.each([
    [0, 2],
    [1, 4],
    [2, 8],
    [4, 32],
    [5, 60],
    [1000, 60],
  ])('after %i looks, the next one is %i minutes later', (checks, minutes) => {
    expect(nextCheckMs(checks)).toBe(minutes * MINUTE);
  });
});

describe('retirementOf', () => {
  /** What the first write that is taken leaves behind. */
  const retired = (seen: StepItem, stored: StepItem): StepItem => {
    const update = retirementOf(seen, now).find(({ when }) => holds(when, stored as unknown as Item));
    return update ? asStep(applied(update, stored as unknown as Item)) : stored;
  };
  const expiresAt = expiryOf(now);

  test.each<TaskStatus>(['ready', 'claimed', 'retrying', 'dead'])('%s: cancelled, and expires', (status) => {
    const step = aStep({ status, owner: 'me' });
    const after = retired(step, step);
    expect(after).toMatchObject({ status: 'cancelled', expiresAt });
    expect(after).not.toHaveProperty('owner');
  });

  test.each<TaskStatus>(['done', 'surplus', 'cancelled'])('%s: stays, and expires', (status) => {
    const step = aDoneStep({ status });
    expect(retired(step, step)).toEqual({ ...step, expiresAt });
  });

  test('a step that finished since the look is kept as it is', () => {
    const done = aDoneStep();
    for (const seen of [aStep(), aStep({ status: 'claimed' }), aDeadStep()])
      expect(retired(seen, done)).toEqual({ ...done, expiresAt });
  });

  test('a step that began or died since the look is cancelled', () => {
    const dead = aDeadStep();
    expect(retired(aStep(), dead)).toMatchObject({ status: 'cancelled', expiresAt });
  });

  test('a retired step costs no write, and keeps its time', () => {
    expect(retirementOf(aDoneStep({ expiresAt: 5 }), now)).toEqual([]);
    const retiredSince = aDoneStep({ expiresAt: 5 });
    expect(retired(aDoneStep(), retiredSince)).toEqual(retiredSince);
  });
});
