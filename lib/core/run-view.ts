/** How a run is shown: to callers of the API, and in the command line. Times are ISO 8601. */

import { PayloadGone } from './errors.ts';
import { type RunItem, type StepItem, taskIdOf } from './items.ts';
import { ATTEMPTS_KEPT } from './outcome.ts';
import { payloadOf } from './payload.ts';
import type { Payloads } from './ports.ts';

export interface AttemptView {
  readonly number: number;
  readonly outcome: 'failed' | 'lost';
  readonly class?: string;
  readonly error?: string;
  readonly message?: string;
  readonly startedAt?: string;
  readonly endedAt?: string;
  readonly worker?: string;
}

export interface StepView {
  readonly step: string;
  readonly taskId: string;
  readonly type: string;
  readonly status: string;
  /** Tries ever begun. */
  readonly started: number;
  readonly enteredAt: string;
  readonly deadline: string;
  readonly endedAt?: string;
  readonly reason?: string;
  readonly failure?: { readonly error: string; readonly message: string; readonly fingerprint: string };
  readonly attempts: readonly AttemptView[];
  /** The task's result, once it is done. */
  readonly result?: unknown;
}

export interface RunView {
  readonly id: string;
  readonly workflow: string;
  readonly status: string;
  readonly execution: number;
  readonly correlationId: string;
  readonly startedAt: string;
  readonly updatedAt: string;
  readonly closedAt?: string;
  readonly cause?: { readonly execution: string; readonly error?: string; readonly message?: string };
  readonly steps: readonly StepView[];
  readonly output?: unknown;
}

const iso = (milliseconds: number): string => new Date(milliseconds).toISOString();

/** A result that was erased is no reason to hide the run. */
async function shown(
  payloads: Payloads,
  tenant: string,
  text?: string,
  ref?: string,
): Promise<{ value: unknown } | undefined> {
  try {
    return { value: await payloadOf(payloads, tenant, text, ref) };
  } catch (error) {
    if (error instanceof PayloadGone) return undefined;
    throw error;
  }
}

/**
 * Failed tries as they were recorded, the newest {@link ATTEMPTS_KEPT}; a fence without a record belongs to a worker
 * that never came back.
 */
function attemptsOf(step: StepItem): AttemptView[] {
  const recorded = new Map((step.attempts ?? []).map((attempt) => [attempt.fence, attempt]));
  const ended = step.status === 'done' || step.status === 'claimed' ? step.fence - 1 : step.fence;
  // Where records were dropped, what is older than the oldest is unknown, not lost.
  const first = recorded.size < ATTEMPTS_KEPT ? 1 : Math.min(...recorded.keys());
  return Array.from({ length: Math.max(0, ended - first + 1) }, (_, index): AttemptView => {
    const number = first + index;
    const attempt = recorded.get(number);
    if (attempt === undefined) return { number, outcome: 'lost' };
    const { class: errorClass, name, message, startedAt, endedAt, worker } = attempt;
    return {
      number,
      outcome: 'failed',
      class: errorClass,
      error: name,
      message,
      startedAt: iso(startedAt),
      endedAt: iso(endedAt),
      worker,
    };
  });
}

/** A task that was revived keeps the time of its death, and yet has not ended. */
function endOf(step: StepItem): number | undefined {
  if (step.status === 'done') return step.doneAt;
  return step.status === 'dead' ? step.deadAt : undefined;
}

async function stepView(payloads: Payloads, tenant: string, step: StepItem): Promise<StepView> {
  const endedAt = endOf(step);
  const result =
    step.status === 'done' ? await shown(payloads, tenant, step.result, step.resultRef) : undefined;
  return {
    step: step.stepKey,
    taskId: taskIdOf(step.runId, step.stepKey),
    type: step.type,
    status: step.status,
    started: step.started,
    enteredAt: iso(step.firstEntered),
    deadline: iso(step.deadline),
    ...(endedAt === undefined ? {} : { endedAt: iso(endedAt) }),
    ...(step.reason === undefined ? {} : { reason: step.reason }),
    ...(step.failure === undefined
      ? {}
      : {
          failure: {
            error: step.failure.name,
            message: step.failure.message,
            fingerprint: step.failure.fingerprint,
          },
        }),
    attempts: attemptsOf(step),
    ...(result && { result: result.value }),
  };
}

/** The whole run from its partition: what is true now. Steps in the order in which they were first entered. */
export async function runView(
  payloads: Payloads,
  run: RunItem,
  steps: readonly StepItem[],
): Promise<RunView> {
  const ordered = [...steps].sort((a, b) => a.firstEntered - b.firstEntered);
  const output =
    run.status === 'succeeded' ? await shown(payloads, run.tenant, run.output, run.outputRef) : undefined;
  return {
    id: run.runId,
    workflow: run.workflow,
    status: run.status,
    execution: run.execution,
    correlationId: run.correlationId,
    startedAt: iso(run.startedAt),
    updatedAt: iso(run.updatedAt),
    ...(run.closedAt === undefined ? {} : { closedAt: iso(run.closedAt) }),
    ...(run.cause === undefined ? {} : { cause: run.cause }),
    steps: await Promise.all(ordered.map((step) => stepView(payloads, run.tenant, step))),
    ...(output && { output: output.value }),
  };
}
