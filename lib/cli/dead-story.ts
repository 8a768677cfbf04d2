/** Everything on record about one dead task or message, and what to do about it. */
import type { DeadMessageRow } from '#core/dead-rows.ts';
import { type DeadReason, isRefused, type RunItem, type StepItem, taskIdOf } from '#core/items.ts';
import type { Paint } from './screen.ts';
import { duration, plural, timeOf } from './text.ts';

/** Times are ISO 8601. */
export interface TaskStory {
  readonly task: string;
  readonly run: string;
  readonly runStatus: string;
  readonly workflow: string;
  readonly tenant: string;
  readonly step: string;
  readonly type: string;
  readonly version: number;
  readonly pool?: string;
  readonly status: string;
  readonly reason?: DeadReason;
  /** Its handler or a person has said no. */
  readonly refused?: boolean;
  readonly class?: string;
  readonly error?: string;
  readonly message?: string;
  readonly fingerprint?: string;
  /** Of the last round, and of all. */
  readonly tries: number;
  readonly started: number;
  readonly deaths: number;
  /** Highest number of a replay that revived it. */
  readonly replays: number;
  readonly firstAt: string;
  readonly diedAt?: string;
  readonly deadline: string;
  /** SQS's id of the message that died with it. */
  readonly letter?: string;
  /** Line that it waits in, of an ordered pool. */
  readonly parkedAt?: string;
  readonly attempts: readonly {
    readonly startedAt: string;
    readonly tookMs: number;
    readonly class: string;
    readonly error: string;
    readonly message: string;
    readonly worker: string;
  }[];
}

const iso = (time: number): string => new Date(time).toISOString();

export function taskStory(run: RunItem, step: StepItem, pool: string | undefined): TaskStory {
  const { failure, reason, attempts = [], deadAt, deadMessageId, parkedAt } = step;
  return {
    task: taskIdOf(step.runId, step.stepKey),
    run: run.runId,
    runStatus: run.status,
    workflow: run.workflow,
    tenant: run.tenant,
    step: step.stepKey,
    type: step.type,
    version: step.version,
    ...(pool !== undefined && { pool }),
    status: step.status,
    ...(reason !== undefined && { reason }),
    ...(isRefused(step) && { refused: true }),
    ...(failure !== undefined && {
      class: failure.class,
      error: failure.name,
      message: failure.message,
      fingerprint: failure.fingerprint,
    }),
    tries: step.tries,
    started: step.started,
    deaths: step.deaths ?? 0,
    replays: step.replay ?? 0,
    firstAt: iso(attempts[0]?.startedAt ?? step.firstEntered),
    ...(deadAt !== undefined && { diedAt: iso(deadAt) }),
    deadline: iso(step.deadline),
    ...(deadMessageId !== undefined && { letter: deadMessageId }),
    ...(parkedAt !== undefined && { parkedAt }),
    attempts: attempts.map((attempt) => ({
      startedAt: iso(attempt.startedAt),
      tookMs: attempt.endedAt - attempt.startedAt,
      class: attempt.class,
      error: attempt.name,
      message: attempt.message,
      worker: attempt.worker,
    })),
  };
}

const CAUSES: Readonly<Record<DeadReason, string>> = {
  permanent:
    'The handler said that no other try helps, or the input does not fit its contract: mend the data or the code.',
  exhausted: 'Every try failed, see above: mend the downstream or the code.',
  expired:
    'The deadline of its step passed before a try began: see why work waited. A replay gets a fresh deadline.',
  starved:
    'Its message used up its receives: the downstream always said "later", or the function was throttled or did not load. See its log.',
  unknown:
    'A try that must not be repeated ended without a known outcome: ask the downstream about this idempotency key, the task id.',
  key_parked: 'An earlier task of its key is dead: replay or skip that one first, this one comes after it.',
};

/** What a person does next, a line each. */
export function nextSteps(story: TaskStory): string[] {
  const { task, run, runStatus, status, reason, refused, pool } = story;
  if (status !== 'dead') return [`The task is ${status} by now: nothing to do.   npx edow show ${run}`];
  if (runStatus === 'succeeded' || runStatus === 'failed')
    return [`Its run has ${runStatus}: nothing can be replayed.   npx edow show ${run}`];
  if (refused === true)
    return [`It was refused, which no copy changes: its run ends as failed.   npx edow show ${run}`];
  return [
    ...(reason === undefined ? [] : [CAUSES[reason]]),
    ...(pool === undefined ? [] : [`Log:     npx edow logs worker-${pool} --run ${run} --since 2h`]),
    ...(reason === 'unknown'
      ? [`Decide:  npx edow task resolve ${task} --retry   (or --fail, or --done with its result)`]
      : [
          `Replay:  npx edow dlq replay --task ${task}`,
          `Without its letter:  npx edow task resolve ${task} --retry`,
        ]),
  ];
}

export function taskLines(story: TaskStory, paint: Paint): string[] {
  const { pool, reason, error, message, fingerprint, diedAt, letter, parkedAt } = story;
  return [
    `${paint('bold', `Task ${story.task}`)}  ${paint('red', story.status + (reason === undefined ? '' : ` (${reason})`))}`,
    `  ${story.type} version ${story.version}, ${pool === undefined ? 'no pool handles it' : `pool ${pool}`}`,
    `  run ${story.run} (${story.runStatus}), workflow ${story.workflow}, tenant ${story.tenant}`,
    ...(error === undefined
      ? []
      : [`  ${story.class}  ${error}: ${message}`, `  fingerprint ${fingerprint}`]),
    `  first ${timeOf(story.firstAt)} UTC${diedAt === undefined ? '' : `, died ${timeOf(diedAt)}`}, deadline ${timeOf(story.deadline)}`,
    `  ${plural(story.started, 'try', 'tries')} in all, ${story.tries} in the last round; ${plural(story.deaths, 'death')}; replays up to number ${story.replays}`,
    ...(letter === undefined ? [] : [`  message ${letter}`]),
    ...(parkedAt === undefined ? [] : [`  waits in line ${parkedAt}`]),
    ...(story.attempts.length === 0 ? ['  no try is on record'] : ['  tries on record:']),
    ...story.attempts.map(
      (attempt) =>
        `    ${timeOf(attempt.startedAt)}  ${duration(attempt.tookMs)}  ${attempt.class}  ${attempt.error}: ${attempt.message}  (worker ${attempt.worker})`,
    ),
  ];
}

export function messageStory(row: DeadMessageRow) {
  const { pool, messageId, reason, problem, bytes, hash } = row;
  const next = [
    reason === 'unreadable'
      ? 'No function of ours can read it: sent back, it would only return. Find out who sends to this queue.'
      : 'No step is on record for it: its run has expired, or it is a command that nobody of ours sent.',
    `See it:   npx edow dlq show ${messageId} --payload`,
    `Be rid of it:  npx edow dlq discard --message ${messageId} --reason TEXT`,
  ];
  const lines = (paint: Paint): string[] => [
    `${paint('bold', `Message ${messageId}`)}  ${paint('red', reason)}${problem === undefined ? '' : `: ${problem}`}`,
    `  in the dead letters of ${pool}, ${bytes} bytes, SHA-256 ${hash}`,
    `  sent ${timeOf(row.firstAt)} UTC, first seen ${timeOf(row.lastAt)}; SQS drops it ${timeOf(row.expiresAt * 1000)} at the latest`,
  ];
  const { kind: _, ...facts } = row;
  return { facts, next, lines };
}
