/** Several conditional writes at once, ours and a handler's own, as one TransactWriteItems. */
import { setTimeout as pause } from 'node:timers/promises';
import {
  type CancellationReason,
  type DynamoDBClient,
  TransactionCanceledException,
  type TransactWriteItem,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { ContractError } from '#core/errors.ts';
import type { Refusal, TransactResult, Update } from '#core/store.ts';
import type { Plain, TableWrite } from '#core/table-write.ts';
import { toItem } from './attribute-value.ts';
import { type CallOptions, call } from './call.ts';

/** An update of ours in the words of DynamoDB; without an UpdateExpression it is a check of its condition. */
export type Expressed = (
  update: Update,
) => NonNullable<TransactWriteItem['Update'] | TransactWriteItem['ConditionCheck']>;

/**
 * A conflict with a neighbour is over in milliseconds, and the SDK does not repeat a cancelled transaction: waits of
 * at most 50, 100 and 200 ms.
 */
const MORE_ROUNDS = 3;
const FIRST_WAIT_MS = 50;

function plain(value: Plain) {
  try {
    return marshall(value, { removeUndefinedValues: true });
  } catch {
    // The marshaller's own words repeat the value.
    throw new ContractError(
      'a write of the handler holds a value that DynamoDB does not know: hand over text, finite numbers, booleans, null, lists, plain objects and sets',
    );
  }
}

/** Values become attributes; an item that stops the transaction is asked for. */
function marshalled(write: TableWrite): TransactWriteItem {
  const [kind, parts] = Object.entries(write)[0] as [string, Record<string, unknown>];
  const { Item, Key, ExpressionAttributeValues, ...rest } = parts;
  return {
    [kind]: {
      ...rest,
      ...(Item !== undefined && { Item: plain(Item as Plain) }),
      ...(Key !== undefined && { Key: plain(Key as Plain) }),
      ...(ExpressionAttributeValues !== undefined && {
        ExpressionAttributeValues: plain(ExpressionAttributeValues as Plain),
      }),
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    },
  } as TransactWriteItem;
}

const THROTTLED = new Set(['ThrottlingError', 'ProvisionedThroughputExceeded', 'RequestLimitExceeded']);

/** @see https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html */
function refusalOf({ Code, Item }: CancellationReason, ours: boolean): Refusal | undefined {
  if (Code === undefined || Code === 'None') return undefined;
  if (Code === 'ConditionalCheckFailed')
    return { why: 'condition', item: Item && (ours ? toItem(Item) : unmarshall(Item)) };
  if (Code === 'TransactionConflict') return { why: 'conflict' };
  return { why: THROTTLED.has(Code) ? 'throttled' : 'invalid' };
}

const worthAnother = (refusals: readonly (Refusal | undefined)[]): boolean =>
  refusals.every(
    (refusal) => refusal === undefined || refusal.why === 'conflict' || refusal.why === 'throttled',
  );

/** @param wait waits milliseconds; for tests */
export async function transact(
  client: DynamoDBClient,
  expressed: Expressed,
  updates: readonly Update[],
  others: readonly TableWrite[],
  wait: (milliseconds: number) => Promise<unknown> = pause,
): Promise<TransactResult> {
  const command = new TransactWriteItemsCommand({
    TransactItems: [
      ...updates.map((update): TransactWriteItem => {
        const parts = expressed(update);
        return 'UpdateExpression' in parts
          ? { Update: parts }
          : { ConditionCheck: parts as NonNullable<TransactWriteItem['ConditionCheck']> };
      }),
      ...others.map(marshalled),
    ],
  });
  const known = (_name: string, error: unknown): TransactResult | undefined =>
    error instanceof TransactionCanceledException
      ? {
          written: false,
          refusals: (error.CancellationReasons ?? []).map((reason, at) =>
            refusalOf(reason, at < updates.length),
          ),
        }
      : undefined;
  const send = async (options: CallOptions): Promise<TransactResult> => {
    await client.send(command, options);
    return { written: true };
  };
  for (let round = 0; ; round += 1) {
    const result = await call('TransactWriteItems', send, known);
    if (result.written || round === MORE_ROUNDS || !worthAnother(result.refusals)) return result;
    await wait(Math.random() * FIRST_WAIT_MS * 2 ** round);
  }
}
