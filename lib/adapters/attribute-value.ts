/** Attributes of core to DynamoDB's and back. Empty sets and `undefined` are not stored, as in core's `stored`. */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Attribute, Item } from '#core/store.ts';

type Stored = Readonly<Record<string, AttributeValue>>;

/** undefined: nothing to store. */
export function toAttributeValue(value: Attribute | undefined): AttributeValue | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string') return { S: value };
  if (typeof value === 'number') return { N: String(value) };
  if (typeof value === 'boolean') return { BOOL: value };
  if (value instanceof Set) return value.size === 0 ? undefined : { SS: [...value] };
  if (Array.isArray(value)) return { L: value.map(toAttributeValue).filter((part) => part !== undefined) };
  return { M: toAttributes(value as { readonly [name: string]: Attribute | undefined }) };
}

/** Attributes of an item, without those that are not stored. A plain loop: every write and read goes through here. */
export function toAttributes(item: {
  readonly [name: string]: Attribute | undefined;
}): Record<string, AttributeValue> {
  const attributes: Record<string, AttributeValue> = {};
  for (const name of Object.keys(item)) {
    const attribute = toAttributeValue(item[name]);
    if (attribute !== undefined) attributes[name] = attribute;
  }
  return attributes;
}

/** @throws TypeError for a type that no item of ours has (binary, null, sets of numbers). */
function fromAttributeValue(value: AttributeValue): Attribute {
  if (value.S !== undefined) return value.S;
  if (value.N !== undefined) return Number(value.N);
  if (value.BOOL !== undefined) return value.BOOL;
  if (value.SS !== undefined) return new Set(value.SS);
  if (value.L !== undefined) return value.L.map(fromAttributeValue);
  if (value.M !== undefined) return fromAttributes(value.M);
  throw new TypeError(`an attribute of type ${Object.keys(value).join()} is none of ours`);
}

export function fromAttributes(attributes: Stored): { readonly [name: string]: Attribute } {
  // A copy has room for all its members at once; an object that grows is moved again and again.
  const item: Record<string, AttributeValue | Attribute> = { ...attributes };
  for (const name in item) item[name] = fromAttributeValue(item[name] as AttributeValue);
  return item as Record<string, Attribute>;
}

/** An item of a table whose key is (PK, SK). */
export const toItem = (attributes: Stored): Item => fromAttributes(attributes) as Item;
