/** DynamoDB writes outside our own items, which ride in the transaction of a commit. */
import { ContractError } from './errors.ts';

/** Plain JavaScript values (text, numbers, booleans, null, lists, maps, sets), as the SDK's document client takes them. */
export type Plain = { readonly [name: string]: unknown };

interface Guarded {
  readonly TableName: string;
  readonly ConditionExpression?: string;
  readonly ExpressionAttributeNames?: { readonly [placeholder: string]: string };
  readonly ExpressionAttributeValues?: Plain;
}

/**
 * One write, in the shape of the document client's TransactWrite.
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItem.html
 */
export type TableWrite =
  | { readonly Put: Guarded & { readonly Item: Plain } }
  | { readonly Update: Guarded & { readonly Key: Plain; readonly UpdateExpression: string } }
  | { readonly Delete: Guarded & { readonly Key: Plain } }
  | { readonly ConditionCheck: Guarded & { readonly Key: Plain; readonly ConditionExpression: string } };

/** A write whose condition was false: its place among the writes, and the item that made it so. */
export interface RefusedWrite {
  readonly index: number;
  /** undefined: there is no such item. */
  readonly item: Plain | undefined;
}

/** DynamoDB takes 100 writes in a transaction; the commit is one of them, and another is kept free. */
export const MAX_TABLE_WRITES = 98;

const KINDS = ['Put', 'Update', 'Delete', 'ConditionCheck'];

/** @throws ContractError for what is no list of writes: a handler is written wrong */
export function assertTableWrites(type: string, writes: unknown): asserts writes is readonly TableWrite[] {
  const wrong = (what: string): never => {
    throw new ContractError(
      `the handler of ${type} is transactional and returned ${what}: return { output, writes: [{ Update: { TableName, Key, UpdateExpression } }] }`,
    );
  };
  if (!Array.isArray(writes)) return wrong('no list "writes"');
  if (writes.length > MAX_TABLE_WRITES)
    return wrong(`${writes.length} writes, above the ${MAX_TABLE_WRITES} of a transaction`);
  for (const [index, write] of writes.entries()) {
    const [kind, ...more] = Object.entries((write ?? {}) as Record<string, { TableName?: unknown }>);
    if (!kind || more.length > 0 || !KINDS.includes(kind[0]) || typeof kind[1]?.TableName !== 'string')
      wrong(`write ${index} that is not one of ${KINDS.join(', ')} with a TableName`);
  }
}
