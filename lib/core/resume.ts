/** When and how a held run goes on. Shared by collect, the sweeper and the operator's command. */
import type { ExecutionInput } from './dispatch-request.ts';
import type { DeployedWorkflow } from './env-names.ts';
import { asRun, executionName, type RunItem, type StepItem } from './items.ts';
import type { Clock, Executions } from './ports.ts';
import { resumeRunOf } from './run-changes.ts';
import type { Store } from './store.ts';

/** Automatic resumes of one run; an operator's are not counted. */
export const MAX_RESUMES = 5;
const MINUTE = 60_000;

/** How long a run must have been held before its next automatic resume: 0, 1, 2, 4, 8 minutes. */
const resumeWaitMs = (resumes: number): number => (resumes === 0 ? 0 : MINUTE * 2 ** (resumes - 1));

/** Why a held run does not go on by itself; undefined: it does. */
export function whyNotResumed(run: RunItem, steps: readonly StepItem[], now: number): string | undefined {
  if (run.status !== 'held') return `the run is ${run.status}`;
  if (run.cause?.execution === 'ABORTED') return 'the execution was stopped by hand: resume it by hand';
  const dead = steps.find((step) => step.status === 'dead');
  if (dead?.reason === 'unknown')
    return `whether task ${dead.stepKey} had its effect is not known: find out and say it (edow task resolve)`;
  if (dead) return `task ${dead.stepKey} is dead: fix its cause and replay it`;
  if (run.resumes >= MAX_RESUMES) return `it was resumed ${run.resumes} times already: resume it by hand`;
  if (now < run.updatedAt + resumeWaitMs(run.resumes)) return 'its next automatic resume is not due yet';
  return undefined;
}

/** Why a run of another definition is not resumed; undefined: the definition is the same. */
export const definitionChanged = (run: RunItem, deployed: DeployedWorkflow): string | undefined =>
  run.definition === deployed.definition
    ? undefined
    : `workflow ${run.workflow} was changed since this run began (${run.definition} then, ${deployed.definition} now)`;

export interface ResumePorts {
  readonly store: Store;
  readonly executions: Executions;
  readonly clock: Clock;
}

/** Starts the run's present execution; an execution of that name that exists is the same one. */
export function startExecution(
  executions: Executions,
  run: RunItem,
  deployed: DeployedWorkflow,
): Promise<'started' | 'exists' | 'throttled'> {
  return executions.start(
    deployed.stateMachineArn,
    executionName(run.runId, run.execution),
    JSON.stringify({ runId: run.runId, execution: run.execution } satisfies ExecutionInput),
  );
}

/**
 * Sets a held run running under the next execution number and starts that execution. `lost`: somebody else changed
 * the run first. A throttled start is caught up by the sweeper.
 */
export async function resumeRun(
  ports: ResumePorts,
  run: RunItem,
  deployed: DeployedWorkflow,
  automatic: boolean,
): Promise<'resumed' | 'lost'> {
  const write = await ports.store.update(resumeRunOf(run, automatic, ports.clock.now()));
  if (!write.written) return 'lost';
  await startExecution(ports.executions, asRun(write.item), deployed);
  return 'resumed';
}
