/** Looks at open runs that are due and mends what fell through: events and streams are best effort. */
import { type Closer, retireStep } from './close.ts';
import { buildCommand, failureAnswer } from './dispatch.ts';
import { TASK_REFUSED } from './dispatch-request.ts';
import type { DeployedWorkflow } from './env-names.ts';
import { errorFields } from './errors.ts';
import {
  asRun,
  ENDED_SHARDS,
  executionName,
  isRefused,
  OPEN_SHARDS,
  type RunItem,
  type StepItem,
  splitPartition,
} from './items.ts';
import { lanes } from './lanes.ts';
import type {
  Answers,
  Clock,
  Commands,
  Executions,
  Log,
  Payloads,
  QueueDepth,
  Retelling,
  ViewRows,
} from './ports.ts';
import { definitionChanged, resumeRun, startExecution, whyNotResumed } from './resume.ts';
import { checkedRunOf, leaveOpenRunsOf } from './run-changes.ts';
import { all, type Item, oneOf, plus, type Store, where } from './store.ts';
import { type Told, tellAgain } from './tell-again.ts';

export interface SweepPorts {
  readonly store: Store;
  readonly executions: Executions;
  readonly answers: Answers;
  readonly commands: Commands;
  readonly payloads: Payloads;
  readonly queues: QueueDepth;
  readonly clock: Clock;
  readonly closer: Closer;
  readonly views: Pick<ViewRows, 'timeline'>;
  readonly retelling: Retelling;
  readonly workflows: ReadonlyMap<string, DeployedWorkflow>;
}

/** Runs looked at in one sweep: DescribeExecution stays under 5 a second for a minute. */
const RUNS_PER_SWEEP = 200;
/** A task that nobody has met for so long is published again: SNS takes up to 15 minutes to act on a new filter. */
const UNSEEN_MS = 120_000;
const MAX_REPUBLISHED = 3;
/** A queue with more waiting than this is slow, not empty: its tasks will be met. */
const NEAR_EMPTY = 10;
/** Collect answers within seconds; later than this its answer is taken for lost. */
const ANSWER_LOST_MS = 60_000;

/** Ended runs of one shard in one sweep, some 20 ms each and so many at the same time. */
const ENDED_PER_SHARD = 2500;
const LANES = 10;
/** `checks` at the sixth look, two hours after the end: nobody reads this run's events. */
const LAST_LOOK = 5;

export interface SweepReport {
  checked: number;
  /** Due runs whose look failed: they stay due. */
  failed: number;
  held: number;
  /** Ended runs that were looked at. */
  ended: number;
  /** Runs past the limit of one sweep. */
  left: boolean;
}

export function sweeper(ports: SweepPorts) {
  const { store, executions, answers, clock } = ports;

  /** @param until no ended run is begun after this time, epoch milliseconds */
  async function sweep(log: Log, until: number): Promise<SweepReport> {
    const report: SweepReport = { checked: 0, failed: 0, held: 0, ended: 0, left: false };
    upToDate = undefined;
    // Another shard first each minute: no shard is always the one that a full sweep does not reach.
    const first = Math.floor(clock.now() / 60_000);
    for (let turn = 0; turn < OPEN_SHARDS; turn += 1) {
      const shard = (first + turn) % OPEN_SHARDS;
      const room = RUNS_PER_SWEEP - report.checked - report.failed;
      const due = await store.openRuns(`OPEN#${shard}`, clock.now(), room + 1);
      report.left ||= due.length > room;
      for (const key of due.slice(0, room)) {
        try {
          const after = await check(key.PK, log);
          report.checked += 1;
          if (after?.status === 'held') report.held += 1;
        } catch (error) {
          report.failed += 1;
          log.error('run could not be checked', { run: key.PK, ...errorFields(error) });
        }
      }
      if (report.left) break;
    }
    await sweepEnded(report, until, log);
    return report;
  }

  /** Whether what a timeline lacks is lost, and not on its way only. Asked once a sweep, and only where there is a run. */
  let upToDate: Promise<boolean> | undefined;
  const isUpToDate = (): Promise<boolean> => {
    upToDate ??= ports.retelling.waiting().then((waiting) => waiting <= NEAR_EMPTY);
    return upToDate;
  };

  const tell = async (runId: string, items: readonly Item[], log: Log): Promise<Told> =>
    (await isUpToDate()) ? tellAgain(ports, runId, items, clock.now(), log) : 'young';

  /** Ended runs need no look at their execution: many at a time, as long as there is time. */
  async function sweepEnded(report: SweepReport, until: number, log: Log): Promise<void> {
    for (let shard = 0; shard < ENDED_SHARDS && clock.now() <= until; shard += 1) {
      const due = await store.openRuns(`ENDED#${shard}`, clock.now(), ENDED_PER_SHARD);
      await lanes(due, LANES, async ({ PK }) => {
        if (clock.now() > until) return;
        try {
          await checkEnded(await store.partition(PK), log);
          report.ended += 1;
        } catch (error) {
          report.failed += 1;
          log.error('run could not be checked', { run: PK, ...errorFields(error) });
        }
      });
    }
  }

  /** An ended run leaves the index once its steps are retired and its events are told. */
  async function checkEnded(items: readonly Item[], log: Log): Promise<RunItem | undefined> {
    const { run, steps } = splitPartition(items);
    if (run?.closedAt === undefined) return run;
    for (const step of steps) await retireStep(store, step, run.closedAt);
    const told = await tell(run.runId, items, log);
    const isOver = run.checks >= LAST_LOOK && told === 'late';
    if (isOver) log.error('events of a run are told again and again and reach nobody', { run: run.runId });
    const leaves = told === 'told' || isOver;
    const write = await store.update(leaves ? leaveOpenRunsOf(run) : checkedRunOf(run, clock.now()));
    return write.item && asRun(write.item);
  }

  async function check(pk: string, log: Log): Promise<RunItem | undefined> {
    const items = await store.partition(pk);
    const { run, steps } = splitPartition(items);
    if (run === undefined) return undefined;
    if (run.closedAt !== undefined) return checkEnded(items, log);
    // Neither waits for the other: the table of views may be away, or the run's execution.
    const [mended, told] = await Promise.allSettled([mend(run, steps, log), tell(run.runId, items, log)]);
    if (told.status === 'rejected')
      log.error('events of a run could not be told again', { run: run.runId, ...errorFields(told.reason) });
    if (mended.status === 'rejected') throw mended.reason;
    if (told.status === 'rejected') throw told.reason;
    const touched = await store.update(checkedRunOf(run, clock.now()));
    return touched.item && asRun(touched.item);
  }

  async function mend(run: RunItem, steps: readonly StepItem[], log: Log): Promise<void> {
    const deployed = ports.workflows.get(run.workflow);
    if (deployed === undefined) log.error('open run of a workflow that is not deployed', { run: run.runId });
    else if (run.status === 'running') await checkRunning(run, steps, deployed, log);
    else await checkHeld(run, steps, deployed, log);
  }

  async function checkRunning(
    run: RunItem,
    steps: readonly StepItem[],
    deployed: DeployedWorkflow,
    log: Log,
  ): Promise<void> {
    const name = executionName(run.runId, run.execution);
    const execution = await executions.describe(deployed.stateMachineArn, name);
    if (execution === undefined) {
      const outcome = await startExecution(executions, run, deployed);
      log.warn('accepted run had not been started', { run: run.runId, outcome });
      return;
    }
    if (execution.status !== 'RUNNING') {
      log.warn('ended run had not been closed', { run: run.runId, status: execution.status });
      await ports.closer.close(run.runId, run.execution, { ...execution, status: execution.status }, log);
      return;
    }
    await checkSteps(run, steps, log);
  }

  /** Each alone: one that cannot be mended, as its payload is gone, must not keep the others from their answers. */
  async function checkSteps(run: RunItem, steps: readonly StepItem[], log: Log): Promise<void> {
    const failures: unknown[] = [];
    for (const step of steps)
      await checkStep(run, step, steps, log).catch((error: unknown) => {
        failures.push(error);
        log.error('step could not be checked', {
          run: run.runId,
          step: step.stepKey,
          ...errorFields(error),
        });
      });
    if (failures.length > 0) throw failures[0];
  }

  async function checkStep(
    run: RunItem,
    step: StepItem,
    steps: readonly StepItem[],
    log: Log,
  ): Promise<void> {
    const now = clock.now();
    const fields = { run: run.runId, step: step.stepKey };
    if (step.status === 'done' && (step.doneAt ?? 0) + ANSWER_LOST_MS < now) {
      const answer = await answers.succeed(step.token, step.exposed ?? '{}');
      if (answer === 'accepted') log.warn('a lost answer was given again', fields);
    }
    if (
      step.status === 'dead' &&
      step.outcomeExecution === step.execution &&
      (step.deadAt ?? 0) + ANSWER_LOST_MS < now
    ) {
      const { error, cause } = failureAnswer(step);
      const answer = await answers.fail(step.token, error, cause);
      if (answer === 'accepted') log.warn('a lost failure was given again', fields);
    }
    const unseen = step.status === 'ready' || step.status === 'retrying';
    const quiet = Math.max(step.entered, step.notBefore ?? 0) + UNSEEN_MS < now && step.deadline > now;
    if (unseen && quiet) await republish(run, step, steps, log);
  }

  async function republish(
    run: RunItem,
    step: StepItem,
    steps: readonly StepItem[],
    log: Log,
  ): Promise<void> {
    const waiting = await ports.queues.waiting(step.type);
    if (waiting === undefined || waiting > NEAR_EMPTY || (step.republished ?? 0) >= MAX_REPUBLISHED) return;
    const command = await buildCommand(ports.payloads, run, step, steps);
    const key = { PK: step.PK, SK: step.SK };
    const sameEntry = where('execution', '=', step.execution);
    // Counted before it is sent, so that a sweeper killed in between again and again floods nobody.
    const counted = await store.update({
      key,
      when: all(oneOf('status', ['ready', 'retrying']), where('fence', '=', step.fence), sameEntry),
      changes: { republished: plus(1) },
    });
    if (!counted.written) return;
    let left = [command.id];
    try {
      left = await ports.commands.publish([command]);
    } finally {
      // What was not sent uses up none of the three.
      const sent = left.length === 0;
      if (!sent)
        await store.update({
          key,
          when: all(where('republished', '>', 0), sameEntry),
          changes: { republished: plus(-1) },
        });
      log.warn('a task that nobody had met was published again', {
        run: run.runId,
        step: step.stepKey,
        published: sent,
      });
    }
  }

  async function checkHeld(
    run: RunItem,
    steps: readonly StepItem[],
    deployed: DeployedWorkflow,
    log: Log,
  ): Promise<void> {
    if (steps.some(isRefused)) {
      // It was held for another task before this one said no.
      await ports.closer.close(run.runId, run.execution, { status: 'FAILED', error: TASK_REFUSED }, log);
      return;
    }
    const obstacle = whyNotResumed(run, steps, clock.now()) ?? definitionChanged(run, deployed);
    if (obstacle !== undefined) {
      log.info('held run does not go on', { run: run.runId, obstacle });
      return;
    }
    const outcome = await resumeRun(ports, run, deployed, true);
    log.warn('healed run had not been resumed', { run: run.runId, outcome });
  }

  return { sweep };
}
