/** How a task dies: what is told of it, and the deaths of tasks that nobody holds. */
import type { Command } from './envelope.ts';
import { sourceOf } from './envelope.ts';
import { isoTime } from './iso-time.ts';
import {
  type Attempt,
  type DeadReason,
  type ErrorClass,
  type Failure,
  type Outbox,
  pairOf,
  type StepItem,
  stepItemKey,
  taskIdOf,
} from './items.ts';
import { schemaUri } from './names.ts';
import { LEASE_GRACE_MS } from './retry.ts';
import { addToSet, all, any, type Condition, copyOf, gone, plus, to, type Update, where } from './store.ts';
import { keepOutboxOf } from './tell-again.ts';

/** Event type told when any task gives up. */
export const TASK_FAILED = 'edow.task.failed';

/** Data of {@link TASK_FAILED}. Times are epoch milliseconds. */
export interface TaskFailedData {
  readonly taskId: string;
  readonly type: string;
  /** Version of the contract's schemas. */
  readonly version: number;
  readonly reason: DeadReason;
  /** Tries of this round, and of all rounds. */
  readonly tries: number;
  readonly started: number;
  readonly error: string;
  readonly class: ErrorClass;
  readonly message: string;
  readonly fingerprint: string;
  /** Versions of the workers that tried, the newest. */
  readonly workers: readonly string[];
  /** Start of the first try on record. */
  readonly firstAt: number;
  readonly deaths: number;
  readonly replays: number;
}

/** Worker versions told with a death: a deployment or two fall between the tries of one task. */
const WORKERS_TOLD = 5;

/** A task once it is dead. */
export type DeadStep = StepItem & { readonly reason: DeadReason; readonly deaths: number };

/** What is told of a death, or of another failure that a person gives it. */
export const failedData = (
  item: DeadStep,
  failure: Failure,
  attempts: readonly Attempt[],
  now: number,
): TaskFailedData => ({
  taskId: taskIdOf(item.runId, item.stepKey),
  type: item.type,
  version: item.version,
  reason: item.reason,
  tries: item.tries,
  started: item.started,
  error: failure.name,
  class: failure.class,
  message: failure.message,
  fingerprint: failure.fingerprint,
  workers: [...new Set(attempts.map(({ worker }) => worker))].slice(-WORKERS_TOLD),
  firstAt: attempts[0]?.startedAt ?? now,
  deaths: item.deaths,
  replays: item.replay ?? 0,
});

/** What must be told of a task. Without `data`: its result. */
export const outboxOf = (
  command: Pick<Command, 'workflow' | 'tenant' | 'correlationid' | 'traceparent'>,
  type: string,
  dataschema: string,
  now: number,
  data?: object,
): Outbox => ({
  type,
  time: isoTime(now),
  source: sourceOf(command.workflow),
  dataschema,
  tenant: command.tenant,
  correlationid: command.correlationid,
  traceparent: command.traceparent,
  ...(data === undefined ? {} : { data: JSON.stringify(data) }),
});

/** What every death writes. */
export const deadChanges = (
  item: StepItem,
  command: Command,
  reason: DeadReason,
  failure: Failure,
  messageId: string,
  now: number,
  attempts: readonly Attempt[] = item.attempts ?? [],
) => ({
  status: to('dead'),
  reason: to(reason),
  failure: to({ ...failure }),
  deadAt: to(now),
  deadMessageId: to(messageId),
  deaths: plus(1),
  seq: plus(1),
  outcomeExecution: copyOf('execution'),
  owner: gone,
  leaseUntil: gone,
  notBefore: gone,
  ...keepOutboxOf(item),
  outbox: to({
    ...outboxOf(
      command,
      TASK_FAILED,
      schemaUri(TASK_FAILED, 1),
      now,
      failedData({ ...item, reason, deaths: (item.deaths ?? 0) + 1 }, failure, attempts, now),
    ),
  }),
});

const keyOf = (item: StepItem) => stepItemKey(item.runId, item.stepKey);

const CLAIMED = where('status', '=', 'claimed');
const leaseIsOver = (now: number): Condition => all(CLAIMED, where('leaseUntil', '<', now - LEASE_GRACE_MS));

/** Nobody holds the task, and another try may begin: not begun, between two tries, or its lease is over. */
const unheld = (now: number): Condition =>
  any(
    where('status', '=', 'ready'),
    where('status', '=', 'retrying'),
    all(leaseIsOver(now), where('atMostOnce', '<>', true)),
  );

/** The same round as was read: nobody has taken the task since, and no newer execution has come to it. */
const sameRound = (item: StepItem): Condition =>
  all(where('fence', '=', item.fence), where('execution', '=', item.execution));

/** The last holder never came back and no try is left. */
export function exhaustOf(item: StepItem, command: Command, messageId: string, now: number): Update {
  const failure: Failure = {
    class: 'retryable',
    name: 'WorkerLost',
    message: `the worker of try ${item.tries} was lost (crash or time-out) and no try is left`,
    fingerprint: 'worker-lost',
  };
  return {
    key: keyOf(item),
    when: all(unheld(now), where('fence', '=', item.fence), where('tries', '>=', command.trylimit)),
    changes: deadChanges(item, command, 'exhausted', failure, messageId, now),
  };
}

/** The last receive of a message whose task waits for its next try: with the message, the task's last copy is gone. */
export function starveOf(item: StepItem, command: Command, messageId: string, now: number): Update {
  const last = item.attempts?.at(-1);
  const failure: Failure = {
    class: last?.class ?? 'throttled',
    name: last?.name ?? 'Starved',
    message: last?.message ?? 'the message was received as often as it may be before a try could begin',
    fingerprint: 'starved',
  };
  return {
    key: keyOf(item),
    when: all(unheld(now), sameRound(item)),
    changes: deadChanges(item, command, 'starved', failure, messageId, now),
  };
}

/**
 * The task's message is among the dead letters, and none of our code gave it a reason: its function could not load, or
 * throttling used up the receives. The pair counts as met: a redrive of the letter is a new chance.
 */
export function lostMessageOf(item: StepItem, command: Command, messageId: string, now: number): Update {
  const failure: Failure = {
    class: 'retryable',
    name: 'MessageDied',
    message: `the message went to the dead letters without an outcome (tries: ${item.tries}): its function did not load, was throttled or was lost`,
    fingerprint: 'message-died',
  };
  return {
    key: keyOf(item),
    when: all(unheld(now), sameRound(item), where('entry', '=', item.entry)),
    changes: {
      ...deadChanges(item, command, 'starved', failure, messageId, now),
      met: addToSet(pairOf(item.execution, item.entry)),
    },
  };
}

/** The step's deadline passed before a try could begin. Conditional on what was just read. */
export function expireOf(item: StepItem, command: Command, messageId: string, now: number): Update {
  const failure: Failure = {
    class: 'retryable',
    name: 'DeadlinePassed',
    message: `the step's deadline ${new Date(item.deadline).toISOString()} passed before a try could begin`,
    fingerprint: 'deadline-passed',
  };
  return {
    key: keyOf(item),
    when: all(unheld(now), sameRound(item), where('deadline', '=', item.deadline)),
    changes: deadChanges(item, command, 'expired', failure, messageId, now),
  };
}

/** The holder of an `atMostOnce` task never came back: its effect may have happened. */
export function loseOf(item: StepItem, command: Command, messageId: string, now: number): Update {
  const failure: Failure = {
    class: 'unknown-outcome',
    name: 'WorkerLost',
    message: `the worker of try ${item.tries} was lost (crash or time-out): whether its effect happened is not known`,
    fingerprint: 'worker-lost',
  };
  return {
    key: keyOf(item),
    when: all(leaseIsOver(now), where('fence', '=', item.fence)),
    changes: deadChanges(item, command, 'unknown', failure, messageId, now),
  };
}

/** An earlier task of the same ordering key is dead: this one waits behind it, among the dead letters. */
export function parkOf(
  item: StepItem,
  command: Command,
  behind: string,
  messageId: string,
  now: number,
): Update {
  const failure: Failure = {
    class: 'retryable',
    name: 'KeyParked',
    message: `task ${behind} of the same key is dead: when it is done or cancelled, this one may be replayed`,
    fingerprint: 'key-parked',
  };
  return {
    key: keyOf(item),
    when: all(unheld(now), sameRound(item)),
    changes: {
      ...deadChanges(item, command, 'key_parked', failure, messageId, now),
      // Its command was met, if not claimed: a copy that is sent later is a redrive.
      met: addToSet(pairOf(command.execution, command.entry)),
    },
  };
}

/** A dead task as it was read: whoever revived it meanwhile, or refused it, makes this false. */
export const deadAsRead = (item: StepItem): Condition =>
  all(where('status', '=', 'dead'), where('fence', '=', item.fence), where('seq', '=', item.seq));

/** As {@link deadAsRead}, and no newer execution has come to it. */
export const deadAsMet = (item: StepItem): Condition =>
  all(deadAsRead(item), where('execution', '=', item.execution));
