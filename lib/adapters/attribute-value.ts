/** Attributes of core to DynamoDB's and back. Empty sets and `undefined` are not stored, see core's `stored`. */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Attribute, Item } from '#core/store.ts';
import { stored } from '#core/store-rules.ts';

type Stored = Readonly<Record<string, AttributeValue>>;

function encoded(value: Attribute): AttributeValue {
  if (typeof value === 'string') return { S: value };
  if (typeof value === 'number') return { N: String(value) };
  if (typeof value === 'boolean') return { BOOL: value };
  if (value instanceof Set) return { SS: [...value] };
  if (Array.isArray(value)) return { L: value.map(encoded) };
  return { M: toAttributes(value as { readonly [name: string]: Attribute }) };
}

/** undefined: nothing to store. */
export function toAttributeValue(value: Attribute | undefined): AttributeValue | undefined {
  const kept = stored(value);
  return kept === undefined ? undefined : encoded(kept);
}

/** Attributes of an item, without those that are not stored. */
export const toAttributes = (item: {
  readonly [name: string]: Attribute | undefined;
}): Record<string, AttributeValue> =>
  Object.fromEntries(
    Object.entries(item).flatMap(([name, value]) => {
      const attribute = toAttributeValue(value);
      return attribute === undefined ? [] : [[name, attribute]];
    }),
  );

/** @throws TypeError for a type that no item of ours has (binary, null, sets of numbers). */
export function fromAttributeValue(value: AttributeValue): Attribute {
  if (value.S !== undefined) return value.S;
  if (value.N !== undefined) return Number(value.N);
  if (value.BOOL !== undefined) return value.BOOL;
  if (value.SS !== undefined) return new Set(value.SS);
  if (value.L !== undefined) return value.L.map(fromAttributeValue);
  if (value.M !== undefined) return fromAttributes(value.M);
  throw new TypeError(`an attribute of type ${Object.keys(value).join()} is none of ours`);
}

export const fromAttributes = (attributes: Stored): { readonly [name: string]: Attribute } =>
  Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, fromAttributeValue(value)]));

/** An item of a table whose key is (PK, SK). */
export const toItem = (attributes: Stored): Item => fromAttributes(attributes) as Item;
