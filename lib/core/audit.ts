/**
 * The audit trail of operators: one entry for every action that changes something. It is written before the action
 * begins and completed after it, so that what was cut short stays visible as `begun`.
 *
 * PK `AUDIT#2026-11-29`, SK the time and a nonce: no filter of the table's stream lets such an item pass. Values of
 * payloads are never kept here, only where they were changed.
 */
import { redact } from './failure.ts';
import type { Key, Put, Update } from './store.ts';
import { absent, to, toOrGone, where } from './store.ts';

/** How long an entry is kept: a year, and a month to look at it. */
export const AUDIT_DAYS = 400;
const DAY_MS = 86_400_000;

/** Bounds of one entry: 20 arguments of 300 characters keep it within 8 KB. */
const MAX_ARGUMENTS = 20;
const MAX_TEXT = 300;
const MAX_WHO = 600; // an ARN of STS is shorter

/** `stopped`: the action itself found a reason not to go on (a canary that failed). */
export type AuditOutcome = 'begun' | 'done' | 'stopped' | 'failed';

export interface AuditEntry extends Key {
  /** Epoch milliseconds. */
  readonly at: number;
  /** ARN of the caller, as STS tells it. */
  readonly who: string;
  /** The command, `dlq replay`. */
  readonly action: string;
  readonly arguments: Readonly<Record<string, string>>;
  readonly outcome: AuditOutcome;
  readonly endedAt?: number;
  readonly counts?: Readonly<Record<string, number>>;
  /** Why it stopped or failed. */
  readonly why?: string;
  /** Whole epoch seconds. */
  readonly expiresAt: number;
}

/** What an action leaves behind. */
export interface AuditEnd {
  readonly outcome: Exclude<AuditOutcome, 'begun'>;
  readonly counts: Readonly<Record<string, number>>;
  readonly why?: string;
}

const dayOf = (time: number): string => `AUDIT#${new Date(time).toISOString().slice(0, 10)}`;

/** @param nonce keeps two actions of one millisecond apart */
export function auditEntryOf(
  action: string,
  given: Readonly<Record<string, string>>,
  by: { readonly who: string; readonly at: number; readonly nonce: string },
): AuditEntry {
  const bounded = Object.entries(given).slice(0, MAX_ARGUMENTS);
  return {
    PK: dayOf(by.at),
    SK: `${new Date(by.at).toISOString()}#${by.nonce}`,
    at: by.at,
    who: by.who.slice(0, MAX_WHO), // not redacted: the account of an ARN is a long number
    action,
    arguments: Object.fromEntries(bounded.map(([name, value]) => [name, redact(value, MAX_TEXT)])),
    outcome: 'begun',
    expiresAt: Math.floor((by.at + AUDIT_DAYS * DAY_MS) / 1000),
  };
}

export const beginAuditOf = (entry: AuditEntry): Put => ({ item: { ...entry }, when: absent });

export const endAuditOf = ({ PK, SK }: AuditEntry, end: AuditEnd, now: number): Update => ({
  key: { PK, SK },
  when: where('outcome', '=', 'begun'),
  changes: {
    outcome: to(end.outcome),
    endedAt: to(now),
    counts: to(end.counts),
    why: toOrGone(end.why === undefined ? undefined : redact(end.why, MAX_TEXT)),
  },
});

/** Partitions that hold the entries from one time to another, oldest first; never more days than entries are kept. */
export function auditPartitions(from: number, until: number): string[] {
  const first = Math.max(Math.floor(from / DAY_MS), Math.floor(until / DAY_MS) - AUDIT_DAYS);
  const count = Math.max(0, Math.floor(until / DAY_MS) - first + 1);
  return Array.from({ length: count }, (_, index) => dayOf((first + index) * DAY_MS));
}

/** Entries of a partition that are not older than asked for, and not past their time: a table drops those late. */
export const auditSince = (entries: readonly AuditEntry[], from: number, now: number): AuditEntry[] =>
  entries.filter(({ at, expiresAt }) => at >= from && expiresAt * 1000 > now);
