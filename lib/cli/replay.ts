/**
 * Sends dead letters back to the queue that they came from: filtered, paced, and safe to be cut short at any point.
 *
 * Each letter is sent first and deleted second. A crash between the two leaves it in both queues; the next replay sends
 * it again under the same number, which the worker's claim takes for a duplicate: one new chance, not two.
 */
import { type LetterFilter, matches, replaysOf, type Subject, subjectOf } from './letter.ts';
import type { DeadLetter, DeadLetters, Source, TaskLookup } from './ports.ts';

export interface ReplayPorts {
  readonly letters: DeadLetters;
  readonly lookUp: TaskLookup;
  readonly now: () => number;
  readonly sleep: (milliseconds: number) => Promise<void>;
}

export interface ReplayPlan extends LetterFilter {
  readonly sources: readonly Source[];
  /** Letters sent at most. Default: all. */
  readonly limit?: number;
  /** Letters a second. */
  readonly rate: number;
  /** Shows what would be sent. */
  readonly dryRun: boolean;
}

export interface Replayed extends Subject {
  readonly source: string;
  readonly messageId: string;
  /** Number of this replay, from 1. */
  readonly replay: number;
}

export interface ReplayReport {
  readonly sent: readonly Replayed[];
  /** Letters that the filter or the limit left where they were. */
  readonly left: number;
  /** Bodies that no function of ours can read: sent back, they would only return. */
  readonly unreadable: number;
  /** False: a queue was so long that not all of it was looked at. */
  readonly complete: boolean;
}

/** Letters of one queue that are looked at in one go: what is hidden meanwhile stays far below SQS's limit of 120,000. */
const MAX_SEEN = 10_000;
/** Beyond the time that ten letters take at this rate: receiving, sending and deleting. Seconds. */
const SPARE_SECONDS = 60;
const BATCH = 10;
const MAX_HIDDEN_SECONDS = 43_200; // SQS's limit

/** @param each told after each letter that was sent and deleted (dry run: that would be) */
export async function replay(
  ports: ReplayPorts,
  plan: ReplayPlan,
  each: (replayed: Replayed) => void = () => {},
): Promise<ReplayReport> {
  const tally = { sent: [] as Replayed[], left: 0, unreadable: 0, complete: true };
  const pause = pacer(ports, plan.rate);
  const isFull = (): boolean => tally.sent.length >= (plan.limit ?? Number.POSITIVE_INFINITY);

  /** True: the letter is no longer in the dead-letter queue. */
  async function sentBack(source: Source, letter: DeadLetter): Promise<boolean> {
    const subject = subjectOf(letter.body);
    if (!matches(subject, plan) || isFull()) {
      tally.left += 1;
      return false;
    }
    if (subject === undefined) {
      tally.unreadable += 1;
      return false;
    }
    if (!plan.dryRun) await pause();
    const number = await numberOf(ports.lookUp, letter, subject);
    if (!plan.dryRun) {
      await ports.letters.send(source.queueUrl, letter, number);
      await ports.letters.remove(source.dlqUrl, letter);
    }
    const replayed = { ...subject, source: source.name, messageId: letter.messageId, replay: number };
    tally.sent.push(replayed);
    each(replayed);
    return !plan.dryRun;
  }

  async function walk(source: Source): Promise<void> {
    const hidden = hiddenSeconds(plan.rate);
    const held = new Map<string, DeadLetter>();
    const seen = new Set<string>();
    try {
      while (!isFull()) {
        const batch = await ports.letters.receive(source.dlqUrl, hidden);
        const fresh = batch.filter(({ messageId }) => !seen.has(messageId));
        for (const letter of batch) held.set(letter.messageId, letter);
        for (const letter of fresh) {
          seen.add(letter.messageId);
          if (await sentBack(source, letter)) held.delete(letter.messageId);
        }
        if (batch.length === 0) return;
        if (fresh.length === 0 || seen.size >= MAX_SEEN) {
          // Too many for one go, or only what became visible again: whether others are left cannot be seen.
          tally.complete = false;
          return;
        }
      }
    } finally {
      // Best effort: what stays hidden comes back by itself.
      await ports.letters.release(source.dlqUrl, [...held.values()]).catch(() => {});
    }
  }

  for (const source of plan.sources) await walk(source);
  return tally;
}

const hiddenSeconds = (rate: number): number =>
  Math.min(MAX_HIDDEN_SECONDS, Math.ceil(BATCH / rate) + SPARE_SECONDS);

/**
 * One more than this copy has had, and more than a replay that has already revived the task: the claim takes only a
 * higher number for a new chance.
 */
async function numberOf(lookUp: TaskLookup, letter: DeadLetter, { run, step }: Subject): Promise<number> {
  const task = run === undefined || step === undefined ? undefined : await lookUp(run, step);
  const revivedBy = task?.status === 'dead' ? (task.replay ?? 0) : 0;
  return Math.max(replaysOf(letter), revivedBy) + 1;
}

/** Waits so that no second sees more than `rate` calls, evenly spread; the first one goes at once. */
function pacer({ now, sleep }: ReplayPorts, rate: number): () => Promise<void> {
  let next = Number.NEGATIVE_INFINITY;
  return async () => {
    const wait = next - now();
    if (wait > 0) await sleep(wait);
    next = Math.max(now(), next) + 1000 / rate;
  };
}
