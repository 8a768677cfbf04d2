/** The right to work on a task: who may take it, and what a refusal means. */
import { hash } from 'node:crypto';
import { deadAsRead } from './deaths.ts';
import type { Command } from './envelope.ts';
import { isBeyondTries, pairOf, type StepItem, stepItemKey } from './items.ts';
import { LEASE_GRACE_MS, visibilitySeconds } from './retry.ts';
import {
  addToSet,
  all,
  any,
  type Change,
  copyOf,
  gone,
  missing,
  plus,
  to,
  type Update,
  where,
} from './store.ts';

/** One delivery of a command to one worker. Times are epoch milliseconds. */
export interface ClaimRequest {
  readonly command: Command;
  readonly messageId: string;
  /** When SQS took the message: a moved message gets a new time. */
  readonly sentAt: number;
  /** Number that our own replay tool gave the copy; 0 for any other copy. */
  readonly replay: number;
  /** Random, new for each delivery. */
  readonly owner: string;
  readonly now: number;
  /** The function's own deadline: a lease never ends while its holder may still run. */
  readonly leaseUntil: number;
  /** The task's handler may be called again only after a try that certainly had no effect. */
  readonly atMostOnce: boolean;
}

const pair = (command: Command): string => pairOf(command.execution, command.entry);
const key = (command: Command) => stepItemKey(command.runid, command.step);

/** 96 bits over a command's data: enough to see that two copies of one id differ. */
export const dataDigest = ({ data, dataref }: Command): string =>
  hash('sha256', dataref ?? JSON.stringify(data) ?? '', 'base64url').slice(0, 16);

/**
 * This copy and the one that was claimed have one id and one entry, and yet other data: somebody reused an id. An edit
 * that is on record is none.
 */
export const hasOtherData = (item: StepItem, command: Command): boolean =>
  item.digest !== undefined &&
  item.met?.has(pair(command)) === true &&
  ![item.digest, item.edited?.digest].includes(dataDigest(command));

const ONE_MORE = plus(1);

const taken = (request: ClaimRequest, tries: Change) => ({
  status: to('claimed'),
  fence: ONE_MORE,
  started: ONE_MORE,
  tries,
  owner: to(request.owner),
  leaseUntil: to(request.leaseUntil),
  claimedAt: to(request.now),
  notBefore: gone,
  outcomeExecution: copyOf('execution'),
  met: addToSet(pair(request.command)),
  digest: to(dataDigest(request.command)),
  ...(request.atMostOnce ? { atMostOnce: to(true) } : {}),
});

const READY = where('status', '=', 'ready');
const RETRYING = where('status', '=', 'retrying');
const CLAIMED = where('status', '=', 'claimed');
/** What is lost in the hands of a worker may be handled again. */
const TAKEN_OVER = where('atMostOnce', '<>', true);

/** The one conditional write that takes a task. */
export function claimOf(request: ClaimRequest): Update {
  return {
    key: key(request.command),
    when: all(
      where('tries', '<', request.command.trylimit),
      any(
        READY,
        all(RETRYING, any(missing('notBefore'), where('notBefore', '<=', request.now))),
        all(CLAIMED, where('leaseUntil', '<', request.now - LEASE_GRACE_MS), TAKEN_OVER),
      ),
    ),
    changes: taken(request, ONE_MORE),
  };
}

/** Takes a dead task again: a new round of tries, for a copy that {@link verdictOn} found to be a real new chance. */
export function reviveOf(request: ClaimRequest, dead: StepItem): Update {
  return {
    key: key(request.command),
    when: deadAsRead(dead),
    changes: {
      ...taken(request, to(1)),
      deferred: gone,
      replay: to(Math.max(request.replay, dead.replay ?? 0)),
      reason: gone,
      failure: gone,
    },
  };
}

/**
 * Notes that a copy of this (execution, entry) was met, and when: a copy of the same pair that is sent later may be a
 * redrive. The copy that was noted comes back many times on its way to the dead letters, and is none.
 */
export function noteMetOf(request: ClaimRequest): Update {
  return {
    key: key(request.command),
    when: where('status', '=', 'dead'),
    changes: { met: addToSet(pair(request.command)), metAt: to(request.now) },
  };
}

export type Verdict =
  /** Finished for good: the message may go. */
  | { readonly act: 'ack' }
  /** Come back in so many seconds. */
  | { readonly act: 'wait'; readonly seconds: number }
  /** My own claim, whose answer was lost. */
  | { readonly act: 'mine'; readonly item: StepItem }
  /** Claimable as far as the item says. */
  | { readonly act: 'claim' }
  /** The last holder never came back and no try is left. */
  | { readonly act: 'exhaust'; readonly item: StepItem }
  /** The last holder never came back, and whether its effect happened is for a person to say. */
  | { readonly act: 'unknown'; readonly item: StepItem }
  /** A redrive or a replay of a dead task. */
  | { readonly act: 'revive'; readonly item: StepItem }
  /** Let SQS move the message to its dead-letter queue; `note`: this pair was not met before. */
  | { readonly act: 'burn'; readonly note: boolean };

/** A copy of a dead task that somebody sent back on purpose. */
function isNewChance(request: ClaimRequest, dead: StepItem): boolean {
  if (isBeyondTries(dead)) return false;
  if (request.replay > (dead.replay ?? 0)) return true;
  return (
    request.messageId !== dead.deadMessageId &&
    request.sentAt > Math.max(dead.deadAt ?? 0, dead.metAt ?? 0) + LEASE_GRACE_MS &&
    dead.met?.has(pair(request.command)) === true
  );
}

const claimOrExhaust = (item: StepItem, request: ClaimRequest): Verdict =>
  item.tries < request.command.trylimit ? { act: 'claim' } : { act: 'exhaust', item };

/** What the item says about this delivery. */
export function verdictOn(item: StepItem | undefined, request: ClaimRequest): Verdict {
  // No step was ever written for this message (or it has expired): there is nothing to work on.
  if (item === undefined) return { act: 'burn', note: false };
  switch (item.status) {
    case 'done':
    case 'surplus':
    case 'cancelled':
      return { act: 'ack' };
    case 'claimed': {
      if (item.owner === request.owner) return { act: 'mine', item };
      // A claim without an end is nobody else's to take: the condition of the claim refuses it too.
      const free = (item.leaseUntil ?? Number.POSITIVE_INFINITY) + LEASE_GRACE_MS;
      if (free >= request.now) return { act: 'wait', seconds: visibilitySeconds(free - request.now + 1) };
      return item.atMostOnce ? { act: 'unknown', item } : claimOrExhaust(item, request);
    }
    case 'ready':
      return claimOrExhaust(item, request);
    case 'retrying': {
      const wait = (item.notBefore ?? 0) - request.now;
      return wait > 0 && item.tries < request.command.trylimit
        ? { act: 'wait', seconds: visibilitySeconds(wait) }
        : claimOrExhaust(item, request);
    }
    case 'dead':
      if (isNewChance(request, item)) return { act: 'revive', item };
      return { act: 'burn', note: !(item.met?.has(pair(request.command)) ?? false) };
  }
}
