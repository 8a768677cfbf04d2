/**
 * Conditional writes as plain data. Core builds them, adapters only carry them out, so that the rule that
 * protects an item is the same text in production, in the in-memory adapter and in the fault simulation.
 *
 * Semantics are DynamoDB's: a comparison with a missing attribute is false, save `<>`, which is true.
 */

import type { Plain, TableWrite } from './table-write.ts';

/** What an attribute may hold. Payloads are stored as JSON text, so numbers here are small and whole. */
export type Attribute =
  | string
  | number
  | boolean
  | ReadonlySet<string>
  | readonly Attribute[]
  | { readonly [name: string]: Attribute | undefined };

/** A stored item: its key and its attributes. `undefined` attributes are not stored. */
export interface Key {
  readonly PK: string;
  readonly SK: string;
}
export type Item = Key & { readonly [name: string]: Attribute | undefined };

export type Comparison = '=' | '<>' | '<' | '<=' | '>' | '>=';

export type Condition =
  | { readonly all: readonly Condition[] }
  | { readonly any: readonly Condition[] }
  | { readonly attr: string; readonly is: Comparison; readonly value: string | number | boolean }
  | { readonly attr: string; readonly is: Comparison; readonly sameAs: string }
  | { readonly attr: string; readonly oneOf: readonly string[] }
  | { readonly attr: string; readonly present: boolean }
  | { readonly attr: string; readonly includes: string };

/** How one attribute changes. `ifMissing` keeps what is there, `copyOf` reads the item as it was before the write. */
export type Change =
  | { readonly to: Attribute }
  | { readonly ifMissing: Attribute }
  | { readonly copyOf: string }
  | { readonly plus: number }
  | { readonly addToSet: readonly string[] }
  | { readonly removed: true };

/** An update of one item (created when absent, unless `when` forbids). */
export interface Update {
  readonly key: Key;
  readonly when: Condition;
  readonly changes: { readonly [attr: string]: Change };
}

/** A write of a whole item. */
export interface Put {
  readonly item: Item;
  readonly when: Condition;
}

/** `written`: the item as it is now. `refused`: the item that made the condition false (undefined = none there). */
export type WriteResult =
  | { readonly written: true; readonly item: Item }
  | { readonly written: false; readonly item: Item | undefined };

/**
 * Why one write of a transaction stopped it. `condition`: false for `item`. `conflict`, `throttled`: nothing was
 * judged, the same transaction may succeed later. `invalid`: no repetition helps.
 */
export type Refusal =
  | { readonly why: 'condition'; readonly item: Plain | undefined }
  | { readonly why: 'conflict' | 'throttled' | 'invalid' };

/** Nothing of a cancelled transaction is written. `refusals` has one place a write; undefined: this one was not at fault. */
export type TransactResult =
  | { readonly written: true }
  | { readonly written: false; readonly refusals: readonly (Refusal | undefined)[] };

/**
 * The conditional-write store behind every item of the system.
 * Throws {@link PortUnavailable} when the answer is unknown (throttled, timed out, connection lost): the write may
 * or may not have happened.
 */
export interface Store {
  /** Strongly consistent read of one item. */
  get(key: Key): Promise<Item | undefined>;
  update(update: Update): Promise<WriteResult>;
  put(put: Put): Promise<WriteResult>;
  /**
   * All of them or none. An update without changes is a check of its condition. Conflicts with a neighbour and
   * throttling are tried again by the adapter, a few times with jitter.
   * @param others writes outside our items, after `updates` in the order of the refusals
   */
  transact(updates: readonly Update[], others?: readonly TableWrite[]): Promise<TransactResult>;
  /** Every item of a partition, strongly consistent, in the order of SK. */
  partition(pk: string): Promise<Item[]>;
  /** Keys of open runs in one shard of the index whose check time is at or before `until` (ms), oldest first. */
  openRuns(shard: string, until: number, limit: number): Promise<Key[]>;
}

export const all = (...conditions: Condition[]): Condition => ({ all: conditions });
export const any = (...conditions: Condition[]): Condition => ({ any: conditions });
export const where = (attr: string, is: Comparison, value: string | number | boolean): Condition => ({
  attr,
  is,
  value,
});
export const sameAs = (attr: string, is: Comparison, other: string): Condition => ({
  attr,
  is,
  sameAs: other,
});
export const oneOf = (attr: string, values: readonly string[]): Condition => ({ attr, oneOf: values });
export const present = (attr: string): Condition => ({ attr, present: true });
export const missing = (attr: string): Condition => ({ attr, present: false });
/** True for an item that does not exist: every stored item has its key. */
export const absent: Condition = missing('PK');

export const to = (value: Attribute): Change => ({ to: value });
/** `to(value)`, or removal where there is no value. */
export const toOrGone = (value: Attribute | undefined): Change =>
  value === undefined ? { removed: true } : { to: value };
export const ifMissing = (value: Attribute): Change => ({ ifMissing: value });
export const copyOf = (attr: string): Change => ({ copyOf: attr });
export const plus = (n: number): Change => ({ plus: n });
export const addToSet = (...values: string[]): Change => ({ addToSet: values });
export const gone: Change = { removed: true };
