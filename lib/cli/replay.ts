/**
 * Sends dead letters back to the queue that they came from: filtered, paced, guarded, and safe to be cut short at any
 * point.
 *
 * Each letter is sent first and deleted second. A crash between the two leaves it in both queues; the next replay sends
 * it again under the same number, which the worker's claim takes for a duplicate: one new chance, not two.
 */
import { isBeyondTries, type StepItem } from '#core/items.ts';
import type { LetterEdit } from './edit.ts';
import type { Difference } from './json-patch.ts';
import { replaysOf, type Subject, subjectOf } from './letter.ts';
import { type Judged, judged, type LetterFilter } from './letter-filter.ts';
import { MAX_HIDDEN_SECONDS, walk } from './letter-walk.ts';
import { type Outcomes, outcomeWatch } from './outcome-watch.ts';
import type { DeadLetter, DeadLetters, Source, TaskLookup } from './ports.ts';
import { type EditedBody, replayCopy } from './replay-copy.ts';
import { guard } from './replay-guard.ts';
import { tokenBucket } from './token-bucket.ts';

export interface ReplayPorts {
  readonly letters: DeadLetters;
  readonly lookUp: TaskLookup;
  readonly now: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  /** Puts an edit on record; false: the task has changed since it was looked at. Needed with `edit` only. */
  readonly noteEdit?: (
    task: StepItem,
    edited: EditedBody,
    changes: readonly Difference[],
  ) => Promise<boolean>;
}

export interface ReplayPlan {
  readonly sources: readonly Source[];
  readonly filter: LetterFilter;
  /** Message ids of what may be sent. Default: all that match. */
  readonly only?: ReadonlySet<string>;
  /** Letters sent at most. Default: all. */
  readonly limit?: number;
  /** Letters a second in the long run, and at once. */
  readonly rate: number;
  readonly burst: number;
  /** Shows what would be sent. */
  readonly dryRun: boolean;
  /** So many tasks first; the rest only when all of these are done. */
  readonly canary?: number;
  /** 0 to 1: stops when more of the replayed than this die again. */
  readonly maxFailureRatio?: number;
  /** How long an outcome is waited for. Milliseconds. */
  readonly waitMs: number;
  readonly edit?: (found: Judged, number: number) => Promise<LetterEdit>;
}

export interface Replayed extends Subject {
  readonly source: string;
  readonly messageId: string;
  /** Number of this replay, from 1. */
  readonly replay: number;
  readonly changes?: readonly Difference[];
}

export interface ReplayReport {
  readonly sent: readonly Replayed[];
  /** Letters that the filter, the limit or a stop left where they were. */
  readonly left: number;
  /** Bodies that no function of ours can read: sent back, they would only return. */
  readonly unreadable: number;
  /** Tasks that wait for a person's word, or were refused: a copy is no new chance for them. */
  readonly undecided: number;
  /** Letters with ten attributes of others: a replay's number does not fit. */
  readonly crowded: number;
  /** False: not all of a queue was looked at. */
  readonly complete: boolean;
  /** Where outcomes were watched. */
  readonly outcomes?: Outcomes;
  /** Why the rest was not sent. */
  readonly stopped?: string;
}

export interface ReplayTold {
  /** After each letter that was sent and deleted (dry run: that would be). */
  readonly sent?: (replayed: Replayed) => void;
  /** While outcomes are waited for. */
  readonly waiting?: (outcomes: Outcomes) => void;
}

/** Beyond the time that ten letters take at this rate: receiving, sending and deleting. Seconds. */
const SPARE_SECONDS = 60;
const BATCH = 10;
/** What was read of a task before a longer wait is read again. */
const STALE_MS = 1_000;

export async function replay(
  ports: ReplayPorts,
  plan: ReplayPlan,
  told: ReplayTold = {},
): Promise<ReplayReport> {
  const { letters, lookUp, now, sleep } = ports;
  const { filter, dryRun } = plan;
  const tally = { left: 0, unreadable: 0, undecided: 0, crowded: 0, complete: true };
  const sent: Replayed[] = [];
  const take = tokenBucket(ports, plan.rate, plan.burst);
  const watch = outcomeWatch(ports);
  const guarded = guard(plan, watch, told.waiting ?? (() => {}));
  const isOver = (): boolean =>
    sent.length >= (plan.limit ?? Number.POSITIVE_INFINITY) || guarded.stopped() !== undefined;

  const stays = (why: 'left' | 'unreadable' | 'undecided' | 'crowded'): false => {
    tally[why] += 1;
    return false;
  };

  /** The letter's turn has come: what is known of it now. */
  async function inTurn(found: Judged): Promise<Judged | undefined> {
    if (dryRun) return found;
    const from = now();
    await take();
    if (now() - from < STALE_MS) return found;
    return judged(lookUp, found.letter, found.subject, filter);
  }

  /** True: the letter is no longer in the dead-letter queue. */
  async function handle(source: Source, letter: DeadLetter): Promise<boolean> {
    if (isOver() || plan.only?.has(letter.messageId) === false) return stays('left');
    const subject = subjectOf(letter.body);
    const first = await judged(lookUp, letter, subject, filter);
    if (first === undefined) return stays('left');
    if (subject === undefined) return stays('unreadable');
    if (first.task !== undefined && isBeyondTries(first.task)) return stays('undecided');
    const isDead = first.task?.status === 'dead';
    // Only what a worker acts on says anything about a fix; only that has data that matters.
    if (!isDead && (guarded.isCanary() || plan.edit !== undefined)) return stays('left');
    const found = await inTurn(first);
    if (found === undefined) return stays('left');
    const { task } = found;
    const number = numberOf(letter, task);
    const edit = await plan.edit?.(found, number);
    const changes = edit?.changes ?? [];
    if (!dryRun) {
      const edited = changes.length > 0 ? await edit?.write() : undefined;
      const copy = replayCopy(source, letter, number, edited);
      if (copy === undefined) return stays('crowded');
      if (edited !== undefined && !(await noted(task, edited, changes))) return stays('left');
      await letters.send(source.queueUrl, copy);
      await letters.remove(source.dlqUrl, letter);
    }
    const replayed = {
      ...subject,
      source: source.name,
      messageId: letter.messageId,
      replay: number,
      ...(changes.length > 0 && { changes }),
    };
    sent.push(replayed);
    told.sent?.(replayed);
    if (!dryRun) await guarded.after(task?.status === 'dead' ? task : undefined, subject.task);
    return !dryRun;
  }

  const noted = async (
    task: StepItem | undefined,
    edited: EditedBody,
    changes: readonly Difference[],
  ): Promise<boolean> => task !== undefined && (await (ports.noteEdit?.(task, edited, changes) ?? false));

  const hiddenSeconds = Math.min(
    MAX_HIDDEN_SECONDS,
    Math.ceil(BATCH / plan.rate + (guarded.watches ? plan.waitMs / 1000 : 0)) + SPARE_SECONDS,
  );
  for (const source of plan.sources)
    if (!(await walk({ letters, now, sleep, hiddenSeconds, handle, isOver }, source))) tally.complete = false;
  if (!dryRun) await guarded.end();
  const stopped = guarded.stopped();
  return {
    sent,
    ...tally,
    ...(guarded.watches && !dryRun && { outcomes: watch.outcomes() }),
    ...(stopped !== undefined && { stopped }),
  };
}

/**
 * One more than this copy has had, and more than a replay that has already revived the task: the claim takes only a
 * higher number for a new chance.
 */
function numberOf(letter: DeadLetter, task: StepItem | undefined): number {
  const revivedBy = task?.status === 'dead' ? (task.replay ?? 0) : 0;
  return Math.max(replaysOf(letter), revivedBy) + 1;
}
