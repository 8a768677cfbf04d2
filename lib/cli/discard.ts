/** Throws dead letters away: each is noted on its task first and deleted second. */
import type { StepItem } from '#core/items.ts';
import { type Subject, subjectOf } from './letter.ts';
import { judged, type LetterFilter } from './letter-filter.ts';
import { walk } from './letter-walk.ts';
import type { DeadLetter, DeadLetterBox, DeadLetters, TaskLookup } from './ports.ts';

export interface DiscardPorts {
  readonly letters: DeadLetters;
  readonly lookUp: TaskLookup;
  readonly now: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  /** Puts it on the task's record. */
  readonly note: (task: StepItem, messageId: string) => Promise<void>;
  /** Takes a letter of no task from the index. */
  readonly close: (letter: DeadLetter) => Promise<void>;
}

export interface DiscardPlan {
  readonly boxes: readonly DeadLetterBox[];
  readonly filter: LetterFilter;
  /** Message ids of what may be thrown away. Default: all that match. */
  readonly only?: ReadonlySet<string>;
  /** Letters thrown away at most. Default: all that match. */
  readonly limit?: number;
  readonly dryRun: boolean;
}

export interface Discarded extends Subject {
  readonly source: string;
  readonly messageId: string;
  /** Why it was dead. */
  readonly reason: string;
  /** Its task is dead: no copy is left that a replay could send back. */
  readonly isDead: boolean;
}

export interface DiscardReport {
  readonly discarded: readonly Discarded[];
  readonly left: number;
  readonly complete: boolean;
}

/** Ten letters, each noted and deleted. */
const HIDDEN_SECONDS = 60;

/** @param each told after each letter that is gone (dry run: that would be) */
export async function discard(
  ports: DiscardPorts,
  plan: DiscardPlan,
  each: (discarded: Discarded) => void = () => {},
): Promise<DiscardReport> {
  const { letters, lookUp, now, sleep, note, close } = ports;
  const discarded: Discarded[] = [];
  const tally = { left: 0, complete: true };
  const isOver = (): boolean => discarded.length >= (plan.limit ?? Number.POSITIVE_INFINITY);

  async function handle(box: DeadLetterBox, letter: DeadLetter): Promise<boolean> {
    const subject = subjectOf(letter.body);
    const isMeant = !isOver() && (plan.only?.has(letter.messageId) ?? true);
    const found = isMeant ? await judged(lookUp, letter, subject, plan.filter) : undefined;
    if (found === undefined) {
      tally.left += 1;
      return false;
    }
    const { task, reason } = found;
    if (!plan.dryRun) {
      if (task !== undefined) await note(task, letter.messageId);
      await letters.remove(box.dlqUrl, letter);
      // Last: a letter that is still there must not be missing from the index.
      if (task === undefined) await close(letter);
    }
    const gone = {
      ...subject,
      source: box.name,
      messageId: letter.messageId,
      reason,
      isDead: task?.status === 'dead',
    };
    discarded.push(gone);
    each(gone);
    return !plan.dryRun;
  }

  for (const box of plan.boxes)
    if (!(await walk({ letters, now, sleep, hiddenSeconds: HIDDEN_SECONDS, handle, isOver }, box)))
      tally.complete = false;
  return { discarded, ...tally };
}
