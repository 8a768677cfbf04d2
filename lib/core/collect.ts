/** Answers the task token of a step whose task has ended, and lets a healed run go on. */
import { failureAnswer } from './dispatch.ts';
import type { DeployedWorkflow } from './env-names.ts';
import { asStep, runKey, type StepItem, splitPartition, taskIdOf } from './items.ts';
import type { Answers, Clock, Executions, Log } from './ports.ts';
import { definitionChanged, resumeRun, whyNotResumed } from './resume.ts';
import { all, type Store, to, where } from './store.ts';

export interface CollectPorts {
  readonly store: Store;
  readonly answers: Answers;
  readonly executions: Executions;
  readonly clock: Clock;
  readonly workflows: ReadonlyMap<string, DeployedWorkflow>;
}

export function collector(ports: CollectPorts) {
  const { store, answers } = ports;

  /** @param step the item as the stream showed it, or as it was read for a second try */
  async function collect(step: StepItem, log: Log): Promise<void> {
    if (step.status === 'done') return succeeded(step, log);
    if (step.status === 'dead') return gaveUp(step, log);
  }

  async function succeeded(step: StepItem, log: Log): Promise<void> {
    const answer = await answers.succeed(step.token, step.exposed ?? '{}');
    if (answer === 'accepted') log.info('step answered', { task: taskIdOf(step.runId, step.stepKey) });
    else await markUnaccepted(step, log);
    // Only a result that came after a failure can be what a held run was waiting for.
    const late = (step.doneAt ?? 0) > step.deadline;
    if (answer === 'refused' || late || (step.deaths ?? 0) > 0) await heal(step.runId, log);
  }

  /** A failure counts for its own execution only, and only while the task is still dead. */
  async function gaveUp(seen: StepItem, log: Log): Promise<void> {
    const item = await store.get({ PK: seen.PK, SK: seen.SK });
    const step = item && asStep(item);
    if (step?.status !== 'dead' || step.outcomeExecution !== step.execution) {
      log.info('failure is out of date', { task: taskIdOf(seen.runId, seen.stepKey) });
      return;
    }
    const { error, cause } = failureAnswer(step);
    const answer = await answers.fail(step.token, error, cause);
    log.info('step failed', { task: taskIdOf(step.runId, step.stepKey), reason: step.reason, answer });
  }

  /** Answered before, or too late: the close of the run asks which it was. */
  async function markUnaccepted(step: StepItem, log: Log): Promise<void> {
    log.info('answer was not accepted', { task: taskIdOf(step.runId, step.stepKey) });
    await store.update({
      key: { PK: step.PK, SK: step.SK },
      when: all(where('status', '=', 'done'), where('token', '=', step.token)),
      changes: { unaccepted: to(true) },
    });
  }

  async function heal(runId: string, log: Log): Promise<void> {
    const { run, steps } = splitPartition(await store.partition(runKey(runId).PK));
    if (run === undefined || run.status !== 'held') return;
    const deployed = ports.workflows.get(run.workflow);
    const obstacle =
      whyNotResumed(run, steps, ports.clock.now()) ??
      (deployed === undefined ? 'its workflow is not deployed' : definitionChanged(run, deployed));
    if (obstacle !== undefined || deployed === undefined) {
      log.warn('held run does not go on', { run: runId, obstacle });
      return;
    }
    const outcome = await resumeRun(ports, run, deployed, true);
    log.info('held run resumed', { run: runId, outcome });
  }

  return { collect };
}
