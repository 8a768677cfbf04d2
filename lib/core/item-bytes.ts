/**
 * Size of an item and the capacity units that a request costs, by the rules that AWS publishes
 * ("DynamoDB item sizes and formats", "DynamoDB read and write operations"): what is metered is computed, never
 * taken from a response.
 */
import type { Attribute } from './store.ts';

type Members = { readonly [name: string]: Attribute | undefined };

const KB = 1024;
/** A write unit covers 1 KB, a strongly consistent read unit 4 KB; an eventually consistent read costs half. */
const WRITE_BYTES = KB;
const READ_BYTES = 4 * KB;
/** A list or map costs 3 bytes, and each of its elements 1. */
const CONTAINER_BYTES = 3;
const ELEMENT_BYTES = 1;

const utf8 = new TextEncoder();
const textBytes = (text: string): number => utf8.encode(text).length;

/** One byte for every two significant digits (leading and trailing zeros do not count), one more, and one for a sign. */
function numberBytes(value: number): number {
  if (value === 0) return 1;
  const digits = value
    .toExponential()
    .replace(/e.*$/, '')
    .replaceAll(/[^0-9]/g, '');
  return Math.ceil(digits.length / 2) + 1 + (value < 0 ? 1 : 0);
}

const sum = (sizes: readonly number[]): number => sizes.reduce((left, right) => left + right, 0);

function valueBytes(value: Attribute): number {
  if (typeof value === 'string') return textBytes(value);
  if (typeof value === 'number') return numberBytes(value);
  if (typeof value === 'boolean') return 1;
  if (value instanceof Set) return sum([...value].map(textBytes));
  if (Array.isArray(value))
    return CONTAINER_BYTES + sum(value.map((part) => ELEMENT_BYTES + valueBytes(part)));
  return CONTAINER_BYTES + membersBytes(value as Members, ELEMENT_BYTES);
}

const membersBytes = (members: Members, overhead: number): number =>
  sum(
    Object.entries(members).map(([name, value]) =>
      value === undefined ? 0 : overhead + textBytes(name) + valueBytes(value),
    ),
  );

/** Bytes of an item's names and values: what capacity is counted in. */
export const itemBytes = (item: Members): number => membersBytes(item, 0);

/** Write units of one write: the larger of the item before and after it, at least 1. A refused write costs the same. */
export const writeUnits = (before: number, after: number): number =>
  Math.max(1, Math.ceil(Math.max(before, after) / WRITE_BYTES));

/** A transaction writes twice, to prepare and to commit: units of each of its writes and checks. */
export const transactUnits = (before: number, after: number): number => 2 * writeUnits(before, after);

/**
 * Read units of one GetItem (an absent item costs as one of 4 KB or less) or of one Query page, whose items are
 * added up before rounding.
 */
export const readUnits = (bytes: number, consistency: 'strong' | 'eventual'): number =>
  Math.max(1, Math.ceil(bytes / READ_BYTES)) * (consistency === 'strong' ? 1 : 0.5);
