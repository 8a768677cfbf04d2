/**
 * The stub downstream: a table that plays inventory, payment, shipping and mail, with books of its own. It counts
 * calls and, by idempotency key, effects, and it fails as planned. Nothing in our own books is consulted.
 *
 * PK `CALL#operation`, SK idempotency key: `calls`, `effects` (1 once it was done), `taken` (calls that got the
 * effect or, asking again, its answer), `body` (JSON text of the first), `at`.
 * PK `FAULT#operation`, SK subject (id of an order or a payout): `fails`, how many calls fail before one succeeds (-1: all),
 * `kind`: `error` | `permanent` | `throttled` | `crash`, `retryAfter` seconds. A `crash` takes effect, and then the
 * worker's process is killed before it hears of it.
 */
import { type DynamoDBClient, GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { Downstream, DownstreamCall } from '#core/downstream.ts';
import { PermanentError, RetryAfterError } from '#core/errors.ts';

/** A fault planned for one subject at one operation. */
export interface PlannedFault {
  /** Calls that fail before one succeeds; -1: every call. */
  readonly fails: number;
  readonly kind: 'error' | 'permanent' | 'throttled' | 'crash';
  /** Seconds, for `throttled`. */
  readonly retryAfter?: number;
}

export const faultKey = (operation: string, subject: string) => ({
  PK: { S: `FAULT#${operation}` },
  SK: { S: subject },
});
export const callKey = (operation: string, idempotencyKey: string) => ({
  PK: { S: `CALL#${operation}` },
  SK: { S: idempotencyKey },
});

function fail(operation: string, fault: PlannedFault): void {
  switch (fault.kind) {
    case 'crash':
      return;
    case 'permanent':
      throw new PermanentError(`${operation} refuses this request`, { noEffect: true });
    case 'throttled':
      throw new RetryAfterError(`${operation} is busy`, fault.retryAfter ?? 1, { noEffect: true });
    case 'error':
      throw new Error(`${operation} is out of order`);
  }
}

export function stubDownstream(client: DynamoDBClient, table: string): Downstream {
  const number = (value: { N?: string } | undefined): number => Number(value?.N ?? 0);

  async function countCall({ operation, idempotencyKey }: DownstreamCall): Promise<number> {
    const { Attributes } = await client.send(
      new UpdateItemCommand({
        TableName: table,
        Key: callKey(operation, idempotencyKey),
        UpdateExpression: 'ADD #calls :one',
        ExpressionAttributeNames: { '#calls': 'calls' },
        ExpressionAttributeValues: { ':one': { N: '1' } },
        ReturnValues: 'UPDATED_NEW',
      }),
    );
    return number(Attributes?.['calls']);
  }

  async function plannedFault(operation: string, subject: string): Promise<PlannedFault | undefined> {
    const { Item } = await client.send(
      new GetItemCommand({ TableName: table, Key: faultKey(operation, subject), ConsistentRead: true }),
    );
    if (Item === undefined) return undefined;
    return {
      fails: number(Item['fails']),
      kind: (Item['kind']?.S ?? 'error') as PlannedFault['kind'],
      retryAfter: number(Item['retryAfter']),
    };
  }

  /** The first call with a key has the effect; later ones get the same answer and have none. */
  async function takeEffect({ operation, idempotencyKey, body }: DownstreamCall): Promise<string> {
    const { Attributes } = await client.send(
      new UpdateItemCommand({
        TableName: table,
        Key: callKey(operation, idempotencyKey),
        UpdateExpression:
          'SET #body = if_not_exists(#body, :body), #at = if_not_exists(#at, :at), #effects = :one ADD #taken :one',
        ExpressionAttributeNames: { '#body': 'body', '#at': 'at', '#effects': 'effects', '#taken': 'taken' },
        ExpressionAttributeValues: {
          ':body': { S: JSON.stringify(body) },
          ':at': { S: new Date().toISOString() },
          ':one': { N: '1' },
        },
        ReturnValues: 'ALL_NEW',
      }),
    );
    return Attributes?.['at']?.S ?? '';
  }

  return {
    async call(request) {
      const { operation, idempotencyKey, body } = request;
      const calls = await countCall(request);
      const fault = await plannedFault(operation, String(body['orderId'] ?? body['payoutId']));
      if (fault && (fault.fails < 0 || calls <= fault.fails)) fail(operation, fault);
      await takeEffect(request);
      if (fault?.kind === 'crash' && calls <= fault.fails) process.kill(process.pid, 'SIGKILL');
      return { id: `${operation}/${idempotencyKey}` };
    },
  };
}
