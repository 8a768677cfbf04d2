/** The truth of a run at the end of its execution. */

import { redact } from './failure.ts';
import {
  asRun,
  isRefused,
  type RunCause,
  type RunItem,
  runKey,
  type StepItem,
  splitPartition,
} from './items.ts';
import { keepPayload } from './payload.ts';
import type { Clock, ExecutionState, Log, Payloads } from './ports.ts';
import { endRunOf, holdRunOf, lookAgainOf, retirementOf } from './run-changes.ts';
import type { Store } from './store.ts';

export interface ClosePorts {
  readonly store: Store;
  readonly payloads: Payloads;
  readonly clock: Clock;
}

export type EndedExecution = ExecutionState & {
  readonly status: Exclude<ExecutionState['status'], 'RUNNING'>;
};

/**
 * What a failed execution means: a task's refusal ends the run; so does a failure with every task done (the
 * workflow's own Fail state); everything else is held for a fix, a replay or a person. A time-out of the whole
 * execution is an outage and no decision of the workflow.
 */
export function verdictOnFailure(
  status: EndedExecution['status'],
  steps: readonly StepItem[],
): 'failed' | 'held' {
  if (steps.some(isRefused)) return 'failed';
  if (status !== 'FAILED') return 'held';
  return steps.every((step) => step.status === 'done') ? 'failed' : 'held';
}

/** Bounded and redacted cause of a failed execution. */
const causeOf = (ended: EndedExecution): RunCause => ({
  execution: ended.status,
  ...(ended.error === undefined ? {} : { error: redact(ended.error, 120) }),
  ...(ended.cause === undefined ? {} : { message: redact(ended.cause) }),
});

/** One step of an ended run: it expires with its run, and can no longer begin. */
export async function retireStep(store: Store, step: StepItem, closedAt: number): Promise<void> {
  for (const update of retirementOf(step, closedAt)) if ((await store.update(update)).written) return;
}

export function closer(ports: ClosePorts) {
  const { store, payloads, clock } = ports;

  /** Sets the run by compare-and-set; a run that has moved on is left alone. Returns what the run is now. */
  async function close(
    runId: string,
    execution: number,
    ended: EndedExecution,
    log: Log,
  ): Promise<RunItem | undefined> {
    const { run, steps } = splitPartition(await store.partition(runKey(runId).PK));
    if (run === undefined) {
      log.error('an execution ended whose run is not on record', { run: runId });
      return undefined;
    }
    if (run.execution !== execution || run.status === 'succeeded' || run.status === 'failed') {
      log.info('run has moved on', { run: runId, status: run.status });
      return finish(run);
    }
    const now = clock.now();
    const verdict = ended.status === 'SUCCEEDED' ? 'succeeded' : verdictOnFailure(ended.status, steps);
    if (verdict === 'held') {
      const cause = causeOf(ended);
      const held = await store.update(holdRunOf(run, cause, now));
      log.warn('run is held', { run: runId, written: held.written, cause: cause.error });
      return held.item && asRun(held.item);
    }
    const update = endRunOf(run, { status: verdict, ...(await endOf(run, ended)) }, now);
    const closed = await store.update(update);
    log.info('run has ended', { run: runId, status: verdict, written: closed.written });
    return closed.item && finish(asRun(closed.item));
  }

  /**
   * What follows the end of a run. The run stays in the index until the sweeper has looked at it, two minutes later: it
   * finishes a close that was cut short, retires a step that a dispatch brought late, and sees that all is told. A run
   * that has left the index comes back to it.
   */
  async function finish(run: RunItem): Promise<RunItem> {
    if (run.closedAt === undefined) return run;
    if (run.openShard === undefined) await store.update(lookAgainOf(run, clock.now()));
    else await retire(run.runId, run.closedAt);
    return run;
  }

  async function endOf(run: RunItem, ended: EndedExecution) {
    if (ended.status !== 'SUCCEEDED') return { cause: causeOf(ended) };
    const kept = await keepPayload(payloads, `${run.tenant}/${run.runId}/output.json`, ended.output ?? '{}');
    return 'text' in kept ? { output: kept.text } : { outputRef: kept.ref };
  }

  /**
   * Steps expire with their run; what never finished can no longer begin. They are read after the run's own write:
   * a dispatch writes its step first and reads the run second, so that one of the two sees the other.
   */
  async function retire(runId: string, closedAt: number): Promise<void> {
    const { steps } = splitPartition(await store.partition(runKey(runId).PK));
    for (const step of steps) await retireStep(store, step, closedAt);
  }

  return { close };
}

export type Closer = ReturnType<typeof closer>;
