/** Which dead letters are meant: by what their bodies say, and by what is on record about their tasks. */
import type { StepItem } from '#core/items.ts';
import { isCommand, type Subject } from './letter.ts';
import type { DeadLetter, TaskLookup } from './ports.ts';

export interface LetterFilter {
  readonly run?: string;
  readonly task?: string;
  readonly type?: string;
  readonly tenant?: string;
  readonly workflow?: string;
  /** As `dlq ls` shows it. */
  readonly reason?: string;
  readonly fingerprint?: string;
  /** Died (letters without a task: sent) at this time or later, epoch milliseconds. */
  readonly since?: number;
  /** SQS's id: the only name of a letter that nothing can read. */
  readonly message?: string;
}

/** A letter with what is known of it. */
export interface Judged {
  readonly letter: DeadLetter;
  /** Undefined: a body that nothing of ours wrote. */
  readonly subject: Subject | undefined;
  readonly task: StepItem | undefined;
  readonly reason: string;
}

/** Why a letter is where it is. */
export function reasonOf(subject: Subject | undefined, task: StepItem | undefined): string {
  if (subject === undefined) return 'unreadable';
  if (!isCommand(subject)) return 'not a task';
  if (task === undefined) return 'not on record';
  // A task that was cancelled keeps what it had died of.
  return task.status === 'dead' ? (task.reason ?? 'dead') : `left over: ${task.status}`;
}

/** What is not asked for is equal to anything. */
export const equal = (wanted: string | undefined, found: string | undefined): boolean =>
  wanted === undefined || wanted === found;

/** What can be told without a look at the table. */
const bodyMatches = (letter: DeadLetter, subject: Subject | undefined, filter: LetterFilter): boolean =>
  equal(filter.message, letter.messageId) &&
  equal(filter.run, subject?.run) &&
  equal(filter.task, subject?.task) &&
  equal(filter.type, subject?.type) &&
  equal(filter.tenant, subject?.tenant) &&
  equal(filter.workflow, subject?.workflow);

function recordMatches({ letter, task, reason }: Judged, filter: LetterFilter): boolean {
  const wanted = filter.reason;
  const died = task?.deadAt ?? letter.sentAt;
  return (
    (wanted === undefined || reason === wanted || reason.startsWith(`${wanted}:`)) &&
    equal(filter.fingerprint, task?.failure?.fingerprint) &&
    (filter.since === undefined || died >= filter.since)
  );
}

/** The task that a command is for; undefined: not on record, or no command. */
export async function taskOf(
  lookUp: TaskLookup,
  subject: Subject | undefined,
): Promise<StepItem | undefined> {
  return subject !== undefined && isCommand(subject) ? lookUp(subject.run, subject.step) : undefined;
}

/** The letter with its task, if it is meant; one read of the table at most. */
export async function judged(
  lookUp: TaskLookup,
  letter: DeadLetter,
  subject: Subject | undefined,
  filter: LetterFilter,
): Promise<Judged | undefined> {
  if (!bodyMatches(letter, subject, filter)) return undefined;
  const task = await taskOf(lookUp, subject);
  const found = { letter, subject, task, reason: reasonOf(subject, task) };
  return recordMatches(found, filter) ? found : undefined;
}
