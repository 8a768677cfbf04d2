/** Dead letters that none of our code has seen die: each gets its reason on record. */
import { hash } from 'node:crypto';
import { letterExpiry } from './dead-rows.ts';
import { loseOf, lostMessageOf } from './deaths.ts';
import type { Command } from './envelope.ts';
import { errorFields } from './errors.ts';
import { asStep, type StepItem, stepItemKey } from './items.ts';
import { lineOf } from './parking.ts';
import type { Clock, DeadLetterPeek, Log, PeekedLetter, ViewRows } from './ports.ts';
import { isUnreadable, parseCommand, type Unreadable } from './read-command.ts';
import { LEASE_GRACE_MS } from './retry.ts';
import type { Store, WriteResult } from './store.ts';

export interface LetterPorts {
  readonly store: Store;
  readonly views: Pick<ViewRows, 'putDead'>;
  readonly letters: DeadLetterPeek;
  readonly clock: Clock;
}

/** Letters of one look. */
const LETTERS_PER_LOOK = 50;
/**
 * Looks at one pool in one sweep, until one finds letters without a reason: those that have theirs stay for days, and a
 * fresh one among thousands of them is met within minutes. A FIFO queue shows ten of a group, however often one looks.
 */
const LOOKS = 10;
/** Another copy of the message may be on its way: a task is given up only when nothing happened to it for so long. */
const QUIET_MS = 120_000;
/** Letters that this process knows to have a reason; they stay in their queue for days. */
const MOST_KNOWN = 10_000;

/**
 * `settled`: the letter has its reason on record, now or already. `too early`: something may yet happen to its task.
 * `sent again`: a person lets the task be tried by another message.
 */
type Judgement = 'settled' | 'too early' | 'sent again';

export interface LetterReport {
  /** Tasks that died with their message. */
  died: number;
  /** Messages that no task of ours belongs to. */
  strange: number;
}

export function letterSweeper({ store, views, letters, clock }: LetterPorts) {
  const known = new Set<string>();

  /** @param until no letter is judged after this time, epoch milliseconds */
  async function sweepLetters(log: Log, until: number): Promise<LetterReport> {
    const report: LetterReport = { died: 0, strange: 0 };
    if (known.size > MOST_KNOWN) known.clear();
    // Another pool first each minute: no pool is always the one for which there was no time.
    const first = Math.floor(clock.now() / 60_000);
    for (let turn = 0; turn < letters.pools.length && clock.now() <= until; turn += 1) {
      const pool = letters.pools[(first + turn) % letters.pools.length] as string;
      try {
        await sweepPool(pool, log, until, report);
      } catch (error) {
        log.error('dead letters could not be looked at', { pool, ...errorFields(error) });
      }
    }
    return report;
  }

  async function sweepPool(pool: string, log: Log, until: number, report: LetterReport): Promise<void> {
    const fresh = await freshLetters(pool);
    if (fresh.length === 0) return;
    const stuck = new Set<string>();
    try {
      for (const letter of fresh) {
        if (clock.now() > until) break;
        const command = parseCommand(letter.body);
        const line = isUnreadable(command) ? undefined : command.partitionkey;
        // What follows in an ordering key takes its place in line after it, or not at all.
        if (line !== undefined && stuck.has(line)) continue;
        try {
          const judgement = await judge(pool, letter, command, log, report);
          if (judgement === 'settled') known.add(letter.messageId);
          // Sent again, it has had its place in line since its death.
          else if (line !== undefined && judgement === 'too early') stuck.add(line);
        } catch (error) {
          if (line !== undefined) stuck.add(line);
          log.error('dead letter could not be judged', {
            pool,
            messageId: letter.messageId,
            ...errorFields(error),
          });
        }
      }
    } finally {
      // Not before the writes: AWS's redrive passes over what is hidden, so that it never meets a task that dies just then.
      await letters.release(pool, fresh);
    }
  }

  /** The first letters of the queue that have no reason that we know of. They are hidden from others. */
  async function freshLetters(pool: string): Promise<readonly PeekedLetter[]> {
    const met: PeekedLetter[] = [];
    let fresh: readonly PeekedLetter[] = [];
    try {
      for (let look = 0; look < LOOKS && fresh.length === 0; look += 1) {
        const seen = await letters.peek(pool, LETTERS_PER_LOOK);
        fresh = seen.filter(({ messageId }) => !known.has(messageId));
        met.push(...seen.filter(({ messageId }) => known.has(messageId)));
        if (seen.length < LETTERS_PER_LOOK) break;
      }
    } finally {
      // At once: an operator's replay must not miss what has its reason for long.
      if (met.length > 0) await letters.release(pool, met);
    }
    return fresh;
  }

  async function judge(
    pool: string,
    letter: PeekedLetter,
    command: Command | Unreadable,
    log: Log,
    report: LetterReport,
  ): Promise<Judgement> {
    const strange = async (reason: 'unreadable' | 'not on record', problem?: string): Promise<Judgement> => {
      report.strange += 1;
      log.warn('dead letter of no task', { pool, messageId: letter.messageId, reason, problem });
      await views.putDead({
        kind: 'message',
        messageId: letter.messageId,
        pool,
        reason,
        ...(problem === undefined ? {} : { problem }),
        bytes: Buffer.byteLength(letter.body),
        hash: hash('sha256', letter.body),
        firstAt: letter.sentAt,
        lastAt: clock.now(),
        expiresAt: letterExpiry(letter.sentAt),
      });
      return 'settled';
    };
    if (isUnreadable(command)) return strange('unreadable', command.problem);
    const stored = await store.get(stepItemKey(command.runid, command.step));
    if (stored === undefined) return strange('not on record');
    const step = asStep(stored);
    if (!isLost(step, command)) return 'settled';
    // A person lets the task be tried again, by a message of its own: that one has until the deadline.
    if (isOfAnEarlierRound(step, letter) && step.deadline > clock.now()) return 'sent again';
    if (quietSince(step) + QUIET_MS > clock.now()) return 'too early';
    const write = await bury(pool, step, command, letter.messageId);
    if (!write.written) return 'too early';
    report.died += 1;
    log.error('task died with its message', { run: step.runId, step: step.stepKey, pool });
    return 'settled';
  }

  /** The death that a worker would have written, with its place in line where the pool keeps an order. */
  async function bury(
    pool: string,
    step: StepItem,
    command: Command,
    messageId: string,
  ): Promise<WriteResult> {
    const lost = step.status === 'claimed' && step.atMostOnce === true ? loseOf : lostMessageOf;
    const death = lost(step, command, messageId, clock.now());
    const { id, partitionkey } = command;
    return partitionkey === undefined
      ? store.update(death)
      : lineOf(store, pool, { id, partitionkey }).bury(death, step);
  }

  return { sweepLetters };
}

/** The letter that the task died with, or another copy from before. */
const isOfAnEarlierRound = (step: StepItem, { messageId, sentAt }: PeekedLetter): boolean =>
  messageId === step.deadMessageId || sentAt + LEASE_GRACE_MS < (step.deadAt ?? 0);

/** The task waits for this message: an older entry's is of no use to it. */
const isLost = (step: StepItem, command: Command): boolean =>
  (step.status === 'ready' || step.status === 'retrying' || step.status === 'claimed') &&
  step.execution === command.execution &&
  step.entry === command.entry;

/** When something last happened to the task, or will. */
const quietSince = (step: StepItem): number =>
  Math.max(
    step.entered,
    step.notBefore ?? 0,
    step.attempts?.at(-1)?.endedAt ?? 0,
    step.status === 'claimed' ? (step.leaseUntil ?? Number.POSITIVE_INFINITY) + LEASE_GRACE_MS : 0,
  );
