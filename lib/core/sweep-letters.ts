/** Dead letters that none of our code has seen die: each gets its reason on record. */
import { hash } from 'node:crypto';
import { letterExpiry } from './dead-rows.ts';
import { loseOf, lostMessageOf } from './deaths.ts';
import type { Command } from './envelope.ts';
import { errorFields } from './errors.ts';
import { asStep, type StepItem, stepItemKey } from './items.ts';
import { lineOf } from './parking.ts';
import type { Clock, DeadLetterPeek, Log, PeekedLetter, ViewRows } from './ports.ts';
import { isUnreadable, parseCommand } from './read-command.ts';
import { LEASE_GRACE_MS } from './retry.ts';
import type { Store, WriteResult } from './store.ts';

export interface LetterPorts {
  readonly store: Store;
  readonly views: Pick<ViewRows, 'putDead'>;
  readonly letters: DeadLetterPeek;
  readonly clock: Clock;
}

/** Letters of one pool in one sweep: some 5 ms each. */
const LETTERS_PER_POOL = 50;
/** Another copy of the message may be on its way: a task is given up only when nothing happened to it for so long. */
const QUIET_MS = 120_000;
/** Letters that this process knows to have a reason; they stay in their queue for days. */
const MOST_KNOWN = 1000;

export interface LetterReport {
  /** Tasks that died with their message. */
  died: number;
  /** Messages that no task of ours belongs to. */
  strange: number;
}

export function letterSweeper({ store, views, letters, clock }: LetterPorts) {
  const known = new Set<string>();

  /** @param until no pool is begun after this time, epoch milliseconds */
  async function sweepLetters(log: Log, until: number): Promise<LetterReport> {
    const report: LetterReport = { died: 0, strange: 0 };
    if (known.size > MOST_KNOWN) known.clear();
    for (const pool of letters.pools) {
      if (clock.now() > until) break;
      try {
        await sweepPool(pool, log, report);
      } catch (error) {
        log.error('dead letters could not be looked at', { pool, ...errorFields(error) });
      }
    }
    return report;
  }

  async function sweepPool(pool: string, log: Log, report: LetterReport): Promise<void> {
    const held = await letters.peek(pool, LETTERS_PER_POOL);
    const fresh = held.filter(({ messageId }) => !known.has(messageId));
    // At once: an operator's replay must not miss what has its reason for long.
    if (fresh.length < held.length)
      await letters.release(
        pool,
        held.filter((letter) => !fresh.includes(letter)),
      );
    if (fresh.length === 0) return;
    try {
      for (const letter of fresh) if (await judge(pool, letter, log, report)) known.add(letter.messageId);
    } finally {
      // Not before the writes: AWS's redrive passes over what is hidden, so that it never meets a task that dies just then.
      await letters.release(pool, fresh);
    }
  }

  /** True: the letter has its reason on record, now or already. */
  async function judge(pool: string, letter: PeekedLetter, log: Log, report: LetterReport): Promise<boolean> {
    const command = parseCommand(letter.body);
    const strange = async (reason: 'unreadable' | 'not on record', problem?: string): Promise<boolean> => {
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
      return true;
    };
    if (isUnreadable(command)) return strange('unreadable', command.problem);
    const stored = await store.get(stepItemKey(command.runid, command.step));
    if (stored === undefined) return strange('not on record');
    const step = asStep(stored);
    if (!isLost(step, command)) return true;
    // A person lets the task be tried again, by a message of its own: that one has until the deadline.
    if (isOfAnEarlierRound(step, letter) && step.deadline > clock.now()) return false;
    if (quietSince(step) + QUIET_MS > clock.now()) return false;
    const write = await bury(pool, step, command, letter.messageId);
    if (!write.written) return false;
    report.died += 1;
    log.error('task died with its message', { run: step.runId, step: step.stepKey, pool });
    return true;
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
