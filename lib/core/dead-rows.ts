/**
 * The index of dead letters: a row for each dead task, made from the events of tasks, and one for each message in a
 * dead-letter queue that belongs to no task on record. It is read without touching a queue.
 */
import type { DeadReason, ErrorClass } from './items.ts';

/** Times are epoch milliseconds, `expiresAt` whole seconds. What came with an event of an older version may lack details. */
export interface DeadTaskRow {
  readonly kind: 'task';
  readonly taskId: string;
  readonly runId: string;
  readonly step: string;
  readonly tenant: string;
  readonly workflow: string;
  /** Command type. */
  readonly type: string;
  readonly reason: DeadReason;
  readonly class?: ErrorClass;
  /** Name of the error. */
  readonly error: string;
  /** Bounded and redacted. */
  readonly message?: string;
  readonly fingerprint?: string;
  /** Tries of the last round, and of all rounds. */
  readonly tries?: number;
  readonly started?: number;
  /** Versions of the workers that tried. */
  readonly workers?: readonly string[];
  /** Version of the contract's schemas. */
  readonly version?: number;
  /** Start of the first try that is on record, and death. */
  readonly firstAt: number;
  readonly lastAt: number;
  readonly deaths?: number;
  /** Highest number of a replay that revived the task. */
  readonly replays?: number;
  /** Orders the outcomes of one task. */
  readonly seq: number;
  readonly expiresAt: number;
}

export interface DeadMessageRow {
  readonly kind: 'message';
  readonly messageId: string;
  /** Pool whose dead-letter queue holds it. */
  readonly pool: string;
  readonly reason: 'unreadable' | 'not on record';
  /** Why nothing of ours can read it. Never repeats the content. */
  readonly problem?: string;
  /** Of the body. */
  readonly bytes: number;
  /** Of the body: SHA-256, hex. */
  readonly hash: string;
  /** When it was sent, and when it was first seen among the dead letters. */
  readonly firstAt: number;
  readonly lastAt: number;
  readonly expiresAt: number;
}

export type DeadRow = DeadTaskRow | DeadMessageRow;

/** A task is no longer dead, or its run has ended: rows of outcomes up to `seq` are out of date. */
export interface ClosedDead {
  readonly runId: string;
  readonly taskId: string;
  readonly seq: number;
  readonly expiresAt: number;
}

export interface DeadQuery {
  /** 0 to {@link DEAD_SHARDS} - 1. */
  readonly shard: number;
  /** Rows that died at this time or later, epoch milliseconds. Default: all. */
  readonly since?: number;
  /** 1 to 1,000. */
  readonly limit: number;
  /** Opaque position from an earlier page. */
  readonly after?: string;
}

/** The index lies in so many partitions: an outage kills thousands of tasks a second, and one partition takes 1,000 writes. */
export const DEAD_SHARDS = 16;

/** Queue 4 days and dead letters 14: no event of the task comes later than this, days. */
const LATEST_EVENT_DAYS = 18;
/** SQS deletes a message 14 days after it was sent at the latest. */
const LETTER_DAYS = 14;
const DAY_SECONDS = 86_400;
/** Bounds the index: a run that is held for longer keeps its items, its row goes. */
const ROW_DAYS = 360;

const after = (days: number, time: number): number => Math.floor(time / 1000) + days * DAY_SECONDS;
export const deadRowExpiry = (diedAt: number): number => after(ROW_DAYS, diedAt);
export const closedRowExpiry = (closedAt: number): number => after(LATEST_EVENT_DAYS, closedAt);
export const letterExpiry = (sentAt: number): number => after(LETTER_DAYS, sentAt);
