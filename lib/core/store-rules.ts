/**
 * What a condition means and what an update makes of an item: the semantics of {@link Store} as plain functions.
 * The in-memory store is made of them; DynamoDB is held to the same results by the contract suite.
 */
import { EdowError } from './errors.ts';
import type { Attribute, Change, Comparison, Condition, Item, Key, Update } from './store.ts';

type Members = { readonly [name: string]: Attribute | undefined };

const isSet = (value: Attribute): value is ReadonlySet<string> => value instanceof Set;
const isList = (value: Attribute): value is readonly Attribute[] => Array.isArray(value);

/**
 * An attribute as it is stored: a deep copy without `undefined` members and without empty sets, which DynamoDB
 * does not keep. `undefined`: nothing is stored.
 */
export function stored(value: Attribute | undefined): Attribute | undefined {
  if (typeof value !== 'object') return value;
  if (isSet(value)) return value.size === 0 ? undefined : new Set(value);
  if (isList(value)) return value.map(stored).filter((part) => part !== undefined);
  return storedMembers(value);
}

/** Plain loops: this runs for every write in memory. */
function storedMembers(value: { readonly [name: string]: Attribute | undefined }): Members {
  const copy: Record<string, Attribute | undefined> = { ...value };
  for (const name of Object.keys(copy)) {
    const part = stored(copy[name]);
    if (part === undefined) delete copy[name];
    else if (typeof part === 'object') copy[name] = part;
  }
  return copy;
}

/** A whole item as it is stored: a copy that shares nothing with the original. */
export const storedItem = (item: Item): Item => storedMembers(item) as Item;

/** Order of texts by their UTF-8 bytes, which is the order of their code points: negative, 0 or positive. */
export function textOrder(left: string, right: string): number {
  if (left === right) return 0;
  const others = right[Symbol.iterator]();
  for (const point of left) {
    const other = others.next().value;
    if (other === undefined) return 1;
    if (point !== other) return (point.codePointAt(0) as number) - (other.codePointAt(0) as number);
  }
  // They differ, and yet all of `left` stands in `right`: it is its beginning.
  return -1;
}

function same(left: Attribute | undefined, right: Attribute | undefined): boolean {
  if (typeof left !== 'object' || typeof right !== 'object') return left === right;
  if (isSet(left) || isSet(right))
    return (
      isSet(left) && isSet(right) && left.size === right.size && [...left].every((part) => right.has(part))
    );
  if (isList(left) || isList(right))
    return (
      isList(left) &&
      isList(right) &&
      left.length === right.length &&
      left.every((part, at) => same(part, right[at]))
    );
  const names = Object.keys(left);
  return (
    names.length === Object.keys(right).length &&
    names.every((name) => Object.hasOwn(right, name) && same(left[name], right[name]))
  );
}

/** A missing side makes every comparison false save `<>`; so do two types, which have no order. */
function compares(left: Attribute | undefined, is: Comparison, right: Attribute | undefined): boolean {
  if (left === undefined || right === undefined) return is === '<>';
  if (is === '=') return same(left, right);
  if (is === '<>') return !same(left, right);
  let order: number;
  if (typeof left === 'number' && typeof right === 'number') order = left - right;
  else if (typeof left === 'string' && typeof right === 'string') order = textOrder(left, right);
  else return false;
  if (is === '<') return order < 0;
  if (is === '<=') return order <= 0;
  return is === '>' ? order > 0 : order >= 0;
}

function includes(value: Attribute | undefined, wanted: string): boolean {
  if (value === undefined || typeof value === 'number' || typeof value === 'boolean') return false;
  if (typeof value === 'string' || isList(value)) return value.includes(wanted);
  return isSet(value) && value.has(wanted);
}

const own = (item: Item | undefined, attr: string): Attribute | undefined =>
  item !== undefined && Object.hasOwn(item, attr) ? item[attr] : undefined;

/** Whether a condition is true of an item; `undefined` is an item that does not exist. */
export function holds(condition: Condition, item: Item | undefined): boolean {
  if ('all' in condition) return condition.all.every((part) => holds(part, item));
  if ('any' in condition) return condition.any.some((part) => holds(part, item));
  const value = own(item, condition.attr);
  if ('present' in condition) return (value !== undefined) === condition.present;
  if ('oneOf' in condition) return typeof value === 'string' && condition.oneOf.includes(value);
  if ('includes' in condition) return includes(value, condition.includes);
  if ('sameAs' in condition) return compares(value, condition.is, own(item, condition.sameAs));
  return compares(value, condition.is, condition.value);
}

/** An update that no item can take, whatever is stored: DynamoDB answers ValidationException. */
const misuse = (message: string): EdowError => new EdowError('store_misuse', message);

function changed(attr: string, change: Change, item: Item | undefined): Attribute | undefined {
  const before = own(item, attr);
  if ('to' in change) return change.to;
  if ('ifMissing' in change) return before ?? change.ifMissing;
  if ('removed' in change) return undefined;
  if ('copyOf' in change) {
    const other = own(item, change.copyOf);
    if (other === undefined) throw misuse(`"${attr}" cannot copy "${change.copyOf}": the item has none`);
    return other;
  }
  if ('plus' in change) {
    if (before !== undefined && typeof before !== 'number')
      throw misuse(`cannot add to "${attr}": what is stored is no number`);
    return (before ?? 0) + change.plus;
  }
  if (change.addToSet.length === 0) return before;
  if (before !== undefined && !(before instanceof Set))
    throw misuse(`cannot add to "${attr}": what is stored is no set`);
  return new Set([...((before as ReadonlySet<string> | undefined) ?? []), ...change.addToSet]);
}

const KEY_ATTRIBUTES = ['PK', 'SK'];

/** @throws EdowError `store_misuse` if the update would change the key: an item cannot move. */
export function assertKeyKept(key: Key, changes: Update['changes']): void {
  for (const attr of KEY_ATTRIBUTES)
    if (Object.hasOwn(changes, attr))
      throw misuse(`"${attr}" of ${key.PK} cannot change: put another item instead`);
}

/**
 * The item that an update leaves behind; its condition is not looked at. Every change reads the item as it was.
 * What does not change is shared with that item.
 * @throws EdowError `store_misuse` where DynamoDB refuses the update itself
 */
export function applied(update: Update, item: Item | undefined): Item {
  assertKeyKept(update.key, update.changes);
  const after: Record<string, Attribute | undefined> = { ...item, ...update.key };
  for (const attr of Object.keys(update.changes)) {
    const value = stored(changed(attr, update.changes[attr] as Change, item));
    if (value === undefined) delete after[attr];
    else after[attr] = value;
  }
  return after as Item;
}
