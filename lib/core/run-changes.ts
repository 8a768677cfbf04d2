/** Every change of a run's own item, each a compare-and-set on (status, execution). */

import { sourceOf } from './envelope.ts';
import {
  endedShard,
  type Outbox,
  type RunCause,
  type RunItem,
  type RunStatus,
  runKey,
  type StepItem,
  type TaskStatus,
} from './items.ts';
import { schemaUri } from './names.ts';
import type { Attribute, Change, Update } from './store.ts';
import { all, gone, missing, oneOf, plus, present, to, toOrGone, where } from './store.ts';
import { keepOutboxOf } from './tell-again.ts';

/** Events of a run's life. Their data is {@link RunEventData}. */
export const RUN_EVENTS = {
  started: 'edow.run.started',
  resumed: 'edow.run.resumed',
  held: 'edow.run.held',
  succeeded: 'edow.run.succeeded',
  failed: 'edow.run.failed',
} as const;

/** The state that readers of a run's events need. Times are epoch milliseconds. */
export interface RunEventData {
  readonly runId: string;
  readonly workflow: string;
  readonly status: RunStatus;
  readonly execution: number;
  readonly startedAt: number;
  readonly updatedAt: number;
  readonly error?: string;
}

export function runOutbox(run: RunItem, type: string, changed: Partial<RunItem>, now: number): Outbox {
  const data: RunEventData = {
    runId: run.runId,
    workflow: run.workflow,
    status: changed.status ?? run.status,
    execution: changed.execution ?? run.execution,
    startedAt: run.startedAt,
    updatedAt: now,
    ...(changed.cause?.error === undefined ? {} : { error: changed.cause.error }),
  };
  return {
    type,
    time: new Date(now).toISOString(),
    source: sourceOf(run.workflow),
    dataschema: schemaUri(type, 1),
    tenant: run.tenant,
    correlationid: run.correlationId,
    traceparent: run.traceparent,
    data: JSON.stringify(data),
  };
}

/** Two minutes after it was started or resumed, a run is looked at for the first time. */
export const FIRST_CHECK_MS = 120_000;
const LAST_CHECK_MS = 3_600_000;
/** 2, 4, 8 ... 60 minutes after the last look. */
export const nextCheckMs = (checks: number): number =>
  Math.min(LAST_CHECK_MS, FIRST_CHECK_MS * 2 ** Math.min(checks, 10));

/** 90 days after its close all items of a run expire together. */
export const RETENTION_MS = 90 * 86_400_000;
/** TTL is whole seconds. */
export const expiryOf = (closedAt: number): number => Math.floor((closedAt + RETENTION_MS) / 1000);

const open = (execution: number) =>
  all(oneOf('status', ['running', 'held']), where('execution', '=', execution));

/** A record as an attribute map. */
const attributes = (value: Outbox | RunCause): { readonly [name: string]: Attribute | undefined } => ({
  ...value,
});

/** A run ends: `succeeded` or `failed`. It stays in the index until its steps are retired and its events are told. */
export function endRunOf(
  run: RunItem,
  end: {
    readonly status: 'succeeded' | 'failed';
    readonly output?: string;
    readonly outputRef?: string;
    readonly cause?: RunCause;
  },
  now: number,
): Update {
  return {
    key: runKey(run.runId),
    when: open(run.execution),
    changes: {
      status: to(end.status),
      output: toOrGone(end.output),
      outputRef: toOrGone(end.outputRef),
      cause: toOrGone(end.cause && attributes(end.cause)),
      updatedAt: to(now),
      closedAt: to(now),
      expiresAt: to(expiryOf(now)),
      openShard: to(endedShard(run.runId)),
      // Soon: until its steps are retired a redrive could still revive one of them. By then its events are told, or lost.
      checkAt: to(now + FIRST_CHECK_MS),
      checks: to(0),
      seq: plus(1),
      ...keepOutboxOf(run),
      outbox: to(attributes(runOutbox(run, RUN_EVENTS[end.status], end, now))),
    },
  };
}

/** All that follows the end of a run is finished, and told: it leaves the index. */
export const leaveOpenRunsOf = (run: RunItem): Update => ({
  key: runKey(run.runId),
  when: all(where('status', '=', run.status), present('openShard')),
  changes: { openShard: gone, checkAt: gone },
});

/**
 * An execution of an ended run has ended once more, after a redrive from AWS's console: a dispatch of it may have written
 * a step late. The run is back in the index, for the sweeper to retire that step.
 */
export const lookAgainOf = (run: RunItem, now: number): Update => ({
  key: runKey(run.runId),
  when: all(where('status', '=', run.status), missing('openShard')),
  changes: { openShard: to(endedShard(run.runId)), checkAt: to(now + FIRST_CHECK_MS), checks: to(0) },
});

/** A failed execution leaves its run waiting for a fix, a replay or a person. */
export function holdRunOf(run: RunItem, cause: RunCause, now: number): Update {
  return {
    key: runKey(run.runId),
    when: all(
      where('status', '=', 'running'),
      where('execution', '=', run.execution),
      where('redrive', '=', run.redrive),
    ),
    changes: {
      status: to('held'),
      cause: to(attributes(cause)),
      updatedAt: to(now),
      checkAt: to(now + FIRST_CHECK_MS),
      checks: to(0),
      seq: plus(1),
      ...keepOutboxOf(run),
      outbox: to(attributes(runOutbox(run, RUN_EVENTS.held, { status: 'held', cause }, now))),
    },
  };
}

/** A held run goes on in a new execution. */
export function resumeRunOf(run: RunItem, automatic: boolean, now: number): Update {
  const changed = { status: 'running', execution: run.execution + 1 } as const;
  return {
    key: runKey(run.runId),
    when: all(where('status', '=', 'held'), where('execution', '=', run.execution)),
    changes: {
      ...running(run, changed, now),
      execution: to(changed.execution),
      redrive: to(0),
      ...(automatic ? { resumes: plus(1) } : {}),
    },
  };
}

/** The held run's own execution was redriven from AWS's console: it runs again under the same number. */
export function redrivenRunOf(run: RunItem, redrive: number, now: number): Update {
  return {
    key: runKey(run.runId),
    when: all(
      where('status', '=', 'held'),
      where('execution', '=', run.execution),
      where('redrive', '<', redrive),
    ),
    changes: { ...running(run, { status: 'running' }, now), redrive: to(redrive) },
  };
}

/** A running execution that was redriven: an end event of its earlier round no longer ends this one. */
export const noteRedriveOf = (run: RunItem, redrive: number): Update => ({
  key: runKey(run.runId),
  when: all(
    where('status', '=', 'running'),
    where('execution', '=', run.execution),
    where('redrive', '<', redrive),
  ),
  changes: { redrive: to(redrive) },
});

const running = (run: RunItem, changed: Partial<RunItem>, now: number): Record<string, Change> => ({
  status: to('running'),
  cause: gone,
  updatedAt: to(now),
  checkAt: to(now + FIRST_CHECK_MS),
  checks: to(0),
  seq: plus(1),
  ...keepOutboxOf(run),
  outbox: to(attributes(runOutbox(run, RUN_EVENTS.resumed, changed, now))),
});

/** The sweeper looked: the next look is later. */
export function checkedRunOf(run: RunItem, now: number): Update {
  return {
    key: runKey(run.runId),
    when: all(where('status', '=', run.status), where('execution', '=', run.execution)),
    changes: { checkAt: to(now + nextCheckMs(run.checks + 1)), checks: plus(1) },
  };
}

const UNFINISHED: readonly TaskStatus[] = ['ready', 'claimed', 'retrying', 'dead'];

/** What has not finished when its run ends can no longer begin: the dead neither, a redrive must not revive them. */
const cancelStepOf = (step: StepItem, closedAt: number): Update => ({
  key: { PK: step.PK, SK: step.SK },
  when: oneOf('status', UNFINISHED),
  changes: { status: to('cancelled'), owner: gone, expiresAt: to(expiryOf(closedAt)) },
});

/** Finished steps expire with their run. */
const expireStepOf = (step: StepItem, closedAt: number): Update => ({
  key: { PK: step.PK, SK: step.SK },
  when: all(oneOf('status', ['done', 'surplus', 'cancelled']), missing('expiresAt')),
  changes: { expiresAt: to(expiryOf(closedAt)) },
});

/**
 * The writes that retire a step of an ended run, until the first that is taken: a step may finish between the look
 * and the write, and then it is kept. None for a step that is retired.
 */
export function retirementOf(step: StepItem, closedAt: number): readonly Update[] {
  if (UNFINISHED.includes(step.status)) return [cancelStepOf(step, closedAt), expireStepOf(step, closedAt)];
  return step.expiresAt === undefined ? [expireStepOf(step, closedAt)] : [];
}
