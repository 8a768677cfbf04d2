/** How a try ends: the writes that only the holder of the claim may do. */
import type { TaskContract } from './contract.ts';
import { deadChanges, outboxOf } from './deaths.ts';
import type { Command } from './envelope.ts';
import type { TriedAndFailed } from './failure.ts';
import { type Attempt, type DeadReason, type StepItem, stepItemKey } from './items.ts';
import { schemaUri } from './names.ts';
import type { Result } from './result.ts';
import { all, type Condition, gone, plus, to, toOrGone, type Update, where } from './store.ts';
import { keepOutboxOf } from './tell-again.ts';

/** Attempts kept on an item: the newest. A round has at most 10 tries. */
export const ATTEMPTS_KEPT = 20;

const CLAIMED = where('status', '=', 'claimed');

const mine = (item: StepItem): Condition =>
  all(CLAIMED, where('fence', '=', item.fence), where('owner', '=', item.owner ?? ''));

const keyOf = (item: StepItem) => stepItemKey(item.runId, item.stepKey);

/** The one write that stores result and outbox together. */
export function commitOf(
  claimed: StepItem,
  command: Command,
  contract: TaskContract,
  result: Result,
  now: number,
): Update {
  return {
    key: keyOf(claimed),
    when: mine(claimed),
    changes: {
      status: to('done'),
      result: toOrGone(result.text),
      resultRef: toOrGone(result.ref),
      exposed: toOrGone(result.exposed),
      doneAt: to(now),
      seq: plus(1),
      leaseUntil: gone,
      ...keepOutboxOf(claimed),
      outbox: to({ ...outboxOf(command, contract.event, schemaUri(contract.event, contract.version), now) }),
    },
  };
}

/** A commit was refused by an item that it had written itself: its first answer was lost. */
export const isMyCommit = (claimed: StepItem, found: StepItem | undefined): boolean =>
  found?.status === 'done' && found.fence === claimed.fence && found.owner === claimed.owner;

function withAttempt(claimed: StepItem, tried: TriedAndFailed, worker: string, now: number): Attempt[] {
  const attempt: Attempt = {
    fence: claimed.fence,
    startedAt: claimed.claimedAt ?? now,
    endedAt: now,
    class: tried.failure.class,
    name: tried.failure.name,
    message: tried.failure.message,
    worker,
  };
  return [...(claimed.attempts ?? []), attempt].slice(-ATTEMPTS_KEPT);
}

/** Gives the claim back for another try at `notBefore`. A deferral does not count as a try. */
export function retryOf(
  claimed: StepItem,
  tried: TriedAndFailed,
  next: { readonly notBefore: number; readonly counted: boolean },
  worker: string,
  now: number,
): Update {
  return {
    key: keyOf(claimed),
    when: mine(claimed),
    changes: {
      status: to('retrying'),
      notBefore: to(next.notBefore),
      attempts: to(withAttempt(claimed, tried, worker, now).map((attempt) => ({ ...attempt }))),
      owner: gone,
      leaseUntil: gone,
      ...(next.counted ? {} : { tries: plus(-1), deferred: plus(1) }),
      ...(tried.noEffect ? { clean: plus(1) } : {}),
    },
  };
}

/** The holder gives up: permanent, exhausted or starved. */
export function giveUpOf(
  claimed: StepItem,
  command: Command,
  reason: DeadReason,
  tried: TriedAndFailed,
  messageId: string,
  worker: string,
  now: number,
): Update {
  const attempts = withAttempt(claimed, tried, worker, now);
  return {
    key: keyOf(claimed),
    when: mine(claimed),
    changes: {
      ...deadChanges(claimed, command, reason, tried.failure, messageId, now, attempts),
      attempts: to(attempts.map((attempt) => ({ ...attempt }))),
      ...(tried.noEffect ? { clean: plus(1) } : {}),
    },
  };
}
