/**
 * Capacity units of one DynamoDB call, computed from what the call shows by the rule that AWS publishes (core's
 * item-bytes): ConsumedCapacity is never asked for. An update shows the item after it, a put the item itself, a
 * refused write the item that stood in its way; where the item before a write was larger, the figure is too low. A
 * transaction shows no item but what it puts: its updates and checks count as items of 1 KB or less.
 */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { itemBytes, readUnits, transactUnits, writeUnits } from '#core/item-bytes.ts';
import { fromAttributes } from './attribute-value.ts';

export interface Units {
  readonly read: number;
  readonly write: number;
  /**
   * Writes of indexes, derived: a put writes one entry of each index whose keys its item has; an update that sets a
   * key of an index writes two (the entry moves), one that removes it one. All entries count as 1 KB or less.
   */
  readonly indexWrite: number;
}

/** Partition and sort attribute of an index. */
export interface IndexKeys {
  readonly partition: string;
  readonly sort: string;
}

type Attributes = Record<string, AttributeValue>;

/** The parts of requests and responses that are looked at. */
export interface Request {
  readonly Item?: Attributes;
  readonly Key?: Attributes;
  readonly ConsistentRead?: boolean;
  readonly UpdateExpression?: string;
  readonly ExpressionAttributeNames?: Record<string, string>;
  /** Of a transaction: one kind each. */
  readonly TransactItems?: readonly Readonly<Record<string, { readonly Item?: Attributes }>>[];
}
export interface Response {
  readonly Item?: Attributes;
  readonly Items?: readonly Attributes[];
  readonly Attributes?: Attributes;
}

const bytesOf = (attributes: Attributes | undefined): number =>
  attributes === undefined ? 0 : itemBytes(fromAttributes(attributes));

const has = (item: Attributes, { partition, sort }: IndexKeys): boolean =>
  item[partition] !== undefined && item[sort] !== undefined;

const namesIn = (expression: string, names: Record<string, string> = {}): (string | undefined)[] =>
  (expression.match(/#\w+/g) ?? []).map((name) => names[name]);

/** What an update costs in an index: an entry that moves is written twice, one that is taken out once. */
function updateOf(
  { UpdateExpression = '', ExpressionAttributeNames }: Request,
  after: Attributes | undefined,
  index: IndexKeys,
): number {
  const keys = [index.partition, index.sort];
  const touches = (expression: string): boolean =>
    namesIn(expression, ExpressionAttributeNames).some((name) => keys.includes(name ?? ''));
  if (after !== undefined && has(after, index)) return touches(UpdateExpression) ? 2 : 0;
  // Items of another kind may have one of the keys without ever being in the index.
  const removed = /\bREMOVE\b(.*?)(?=\b(?:SET|ADD|DELETE)\b|$)/s.exec(UpdateExpression)?.[1] ?? '';
  return touches(removed) ? 1 : 0;
}

/**
 * @param refusedFor the item of a failed condition; such a write is paid for as if it had been done
 * @returns undefined for an operation that is not metered in units
 */
export function unitsOf(
  operation: string,
  request: Request,
  outcome: { readonly response: Response } | { readonly refusedFor: Attributes | undefined },
  indexes: readonly IndexKeys[],
): Units | undefined {
  const response = 'response' in outcome ? outcome.response : {};
  const consistency = request.ConsistentRead ? 'strong' : 'eventual';
  if (operation === 'GetItem')
    return { read: readUnits(bytesOf(response.Item), consistency), write: 0, indexWrite: 0 };
  if (operation === 'Query') {
    const bytes = (response.Items ?? []).map(bytesOf).reduce((sum, size) => sum + size, 0);
    return { read: readUnits(bytes, consistency), write: 0, indexWrite: 0 };
  }
  if (operation === 'TransactWriteItems') {
    const writes = (request.TransactItems ?? []).flatMap((one) => Object.values(one));
    const write = writes.reduce((sum, { Item }) => sum + transactUnits(0, bytesOf(Item)), 0);
    return { read: 0, write, indexWrite: 0 };
  }
  if (operation !== 'PutItem' && operation !== 'UpdateItem') return undefined;
  if ('refusedFor' in outcome)
    return {
      read: 0,
      write: writeUnits(bytesOf(outcome.refusedFor), bytesOf(request.Item)),
      indexWrite: 0,
    };
  const after = operation === 'PutItem' ? request.Item : response.Attributes;
  const indexWrites = indexes.map((index): number => {
    if (operation === 'UpdateItem') return updateOf(request, after, index);
    return after !== undefined && has(after, index) ? 1 : 0;
  });
  return {
    read: 0,
    write: writeUnits(0, bytesOf(after)),
    indexWrite: indexWrites.reduce((sum, writes) => sum + writes, 0),
  };
}
