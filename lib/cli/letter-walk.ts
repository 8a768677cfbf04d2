/** Walks through a dead-letter queue: each letter once, hidden meanwhile, shown again where it stays. */
import type { DeadLetter, DeadLetterBox, DeadLetters } from './ports.ts';

export interface Walk<Box extends DeadLetterBox> {
  readonly letters: DeadLetters;
  readonly now: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  /** How long a batch is hidden from others: the time that ten letters take. Seconds. */
  readonly hiddenSeconds: number;
  /** True: the letter is no longer in the queue. Asked for the rest of a batch too when the walk is over. */
  readonly handle: (box: Box, letter: DeadLetter) => Promise<boolean>;
  /** True: no letter is wanted any more. */
  readonly isOver: () => boolean;
}

/** Letters of one queue that are looked at in one go: what is hidden meanwhile stays far below SQS's limit of 120,000. */
const MAX_SEEN = 10_000;
/** A letter is not begun on shortly before it is shown to others again. */
const SPARE_MS = 10_000;

/** Somebody else holds letters, the sweeper for seconds each minute: they are waited for, as they would be overlooked. */
const OTHERS_MS = 25_000;
const LOOK_AGAIN_MS = 1000;

/** SQS's limit of a visibility time-out. Seconds. */
export const MAX_HIDDEN_SECONDS = 43_200;

/**
 * In the order in which SQS hands them out, which in a FIFO queue is the order of each group.
 * @returns false: not all of the queue was looked at
 */
export async function walk<Box extends DeadLetterBox>(
  { letters, now, sleep, hiddenSeconds, handle, isOver }: Walk<Box>,
  box: Box,
): Promise<boolean> {
  const held = new Map<string, DeadLetter>();
  const seen = new Set<string>();
  let waitedMs = 0;
  try {
    while (!isOver()) {
      const hiddenUntil = now() + hiddenSeconds * 1000 - SPARE_MS;
      const batch = await letters.receive(box.dlqUrl, hiddenSeconds);
      // A FIFO queue shows no more of a group while one of it is hidden.
      if (batch.length === 0) {
        if (isFifo(box) && held.size > 0) return false;
        if ((await letters.hidden(box.dlqUrl)) <= held.size) return true;
        if (waitedMs >= OTHERS_MS) return false;
        waitedMs += LOOK_AGAIN_MS;
        await sleep(LOOK_AGAIN_MS);
        continue;
      }
      const fresh = batch.filter(({ messageId }) => !seen.has(messageId));
      for (const letter of batch) held.set(letter.messageId, letter);
      for (const letter of fresh) {
        // Shown again by now, perhaps: it comes with a later batch.
        if (now() > hiddenUntil) break;
        seen.add(letter.messageId);
        if (await handle(box, letter)) held.delete(letter.messageId);
      }
      // Too many for one go, or only what became visible again: whether others are left cannot be seen.
      if (fresh.length === 0 || seen.size >= MAX_SEEN) return false;
    }
    return true;
  } finally {
    // Best effort: what stays hidden comes back by itself.
    await letters.release(box.dlqUrl, [...held.values()]).catch(() => {});
  }
}

/** The dead letters of a FIFO queue lie in one. */
export const isFifo = ({ dlqUrl }: DeadLetterBox): boolean => dlqUrl.endsWith('.fifo');
