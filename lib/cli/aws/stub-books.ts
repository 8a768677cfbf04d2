/** The stub downstreams' own books: faults are planned in them, calls and effects are read from them. */
import { DeleteItemCommand, DynamoDBClient, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { callKey, faultKey, type PlannedFault } from '#adapters/downstream-stub.ts';
import { OPERATOR_CLIENT } from './calls.ts';

export interface CallCount {
  /** Times that the downstream was asked. */
  readonly calls: number;
  /** 1 once it has done it, however often it was asked. */
  readonly effects: number;
}

export interface StubBooks {
  /** @param subject order id */
  plan(operation: string, subject: string, fault: PlannedFault): Promise<void>;
  remove(operation: string, subject: string): Promise<void>;
  count(operation: string, idempotencyKey: string): Promise<CallCount>;
}

export function stubBooks(table: string): StubBooks {
  const client = new DynamoDBClient(OPERATOR_CLIENT);
  return {
    async plan(operation, subject, { fails, kind, retryAfter = 0 }) {
      const Item = {
        ...faultKey(operation, subject),
        fails: { N: String(fails) },
        kind: { S: kind },
        retryAfter: { N: String(retryAfter) },
      };
      await client.send(new PutItemCommand({ TableName: table, Item }));
    },
    async remove(operation, subject) {
      await client.send(new DeleteItemCommand({ TableName: table, Key: faultKey(operation, subject) }));
    },
    async count(operation, idempotencyKey) {
      const Key = callKey(operation, idempotencyKey);
      const { Item } = await client.send(new GetItemCommand({ TableName: table, Key, ConsistentRead: true }));
      return { calls: Number(Item?.['calls']?.N ?? 0), effects: Number(Item?.['effects']?.N ?? 0) };
    },
  };
}
