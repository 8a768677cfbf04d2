import {
  DynamoDBClient,
  TransactionCanceledException,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, describe, expect, test } from 'vitest';
import { dynamoStore } from '#adapters/dynamo-store.ts';
import { ContractError, EdowError, PortUnavailable } from '#core/errors.ts';
import { plus, where } from '#core/store.ts';
import type { TableWrite } from '#core/table-write.ts';

const mock = mockClient(DynamoDBClient);
afterEach(() => mock.reset());
const store = dynamoStore(new DynamoDBClient({}), 'state');
const key = { PK: 'RUN#1', SK: 'STEP#A' };
const update = { key, when: where('n', '=', 1), changes: { n: plus(1) } };
const check = { key: { PK: 'PARK#p#k', SK: 'PARK' }, when: where('head', '=', 'x'), changes: {} };

const sent = () => mock.calls().map(({ args }) => (args[0] as TransactWriteItemsCommand).input);

const cancelled = (...codes: readonly (string | { Code: string; Item: Record<string, { S: string }> })[]) =>
  new TransactionCanceledException({
    message: 'cancelled',
    $metadata: { httpStatusCode: 400 },
    CancellationReasons: codes.map((code) => (typeof code === 'string' ? { Code: code } : code)),
  });

describe('what is sent', () => {
  test('updates of ours, checks, and the writes of a handler with their values as attributes', async () => {
    mock.on(TransactWriteItemsCommand).resolves({});
    const others: TableWrite[] = [
      {
        Put: {
          TableName: 't',
          Item: { id: 'a', n: 1.5, none: null, left: undefined, tags: new Set(['x']) },
          ConditionExpression: 'attribute_not_exists(id)',
        },
      },
      {
        Update: {
          TableName: 't',
          Key: { id: 'b' },
          UpdateExpression: 'ADD #n :n',
          ExpressionAttributeNames: { '#n': 'n' },
          ExpressionAttributeValues: { ':n': 2 },
        },
      },
      { Delete: { TableName: 't', Key: { id: 'c' } } },
    ];
    expect(await store.transact([update, check], others)).toEqual({ written: true });
    const [own, guard, ...theirs] = sent()[0]?.TransactItems ?? [];
    expect(own?.Update).toMatchObject({ TableName: 'state', UpdateExpression: 'ADD #n0 :v0' });
    expect(own?.Update).not.toHaveProperty('ReturnValues');
    expect(guard).toEqual({
      ConditionCheck: {
        TableName: 'state',
        Key: { PK: { S: 'PARK#p#k' }, SK: { S: 'PARK' } },
        ConditionExpression: '#n0 = :v0',
        ExpressionAttributeNames: { '#n0': 'head' },
        ExpressionAttributeValues: { ':v0': { S: 'x' } },
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      },
    });
    expect(theirs).toEqual([
      {
        Put: {
          TableName: 't',
          Item: { id: { S: 'a' }, n: { N: '1.5' }, none: { NULL: true }, tags: { SS: ['x'] } },
          ConditionExpression: 'attribute_not_exists(id)',
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        },
      },
      {
        Update: {
          TableName: 't',
          Key: { id: { S: 'b' } },
          UpdateExpression: 'ADD #n :n',
          ExpressionAttributeNames: { '#n': 'n' },
          ExpressionAttributeValues: { ':n': { N: '2' } },
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        },
      },
      { Delete: { TableName: 't', Key: { id: { S: 'c' } }, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } },
    ]);
  });
});

describe('H05 a cancelled transaction', () => {
  test('says of each write why, with the item of a refused condition', async () => {
    mock
      .on(TransactWriteItemsCommand)
      .rejects(
        cancelled(
          { Code: 'ConditionalCheckFailed', Item: { PK: { S: 'RUN#1' }, SK: { S: 'STEP#A' } } },
          'None',
          { Code: 'ConditionalCheckFailed', Item: { id: { S: 'a' } } },
        ),
      );
    const others: TableWrite[] = [{ Delete: { TableName: 't', Key: { id: 'a' } } }];
    expect(await store.transact([update, check], others)).toEqual({
      written: false,
      refusals: [{ why: 'condition', item: key }, undefined, { why: 'condition', item: { id: 'a' } }],
    });
    expect(sent()).toHaveLength(1);
  });

  test.each([['TransactionConflict'], ['ThrottlingError'], ['ProvisionedThroughputExceeded']])(
    '%s is tried again: written in the end',
    async (code) => {
      mock
        .on(TransactWriteItemsCommand)
        .rejectsOnce(cancelled('None', code))
        .rejectsOnce(cancelled(code, 'None'))
        .resolves({});
      expect(await store.transact([update, check])).toEqual({ written: true });
      expect(sent()).toHaveLength(3);
    },
  );

  test('a conflict that does not end is told after four times', async () => {
    mock.on(TransactWriteItemsCommand).rejects(cancelled('None', 'TransactionConflict'));
    expect(await store.transact([update, check])).toEqual({
      written: false,
      refusals: [undefined, { why: 'conflict' }],
    });
    expect(sent()).toHaveLength(4);
  });

  test('a condition beside a conflict is told at once: the caller reads', async () => {
    mock.on(TransactWriteItemsCommand).rejects(cancelled('ConditionalCheckFailed', 'TransactionConflict'));
    expect(await store.transact([update, check])).toMatchObject({
      refusals: [{ why: 'condition', item: undefined }, { why: 'conflict' }],
    });
    expect(sent()).toHaveLength(1);
  });

  test('what DynamoDB cannot take is invalid', async () => {
    mock.on(TransactWriteItemsCommand).rejects(cancelled('ValidationError', 'None'));
    expect(await store.transact([update, check])).toMatchObject({
      refusals: [{ why: 'invalid' }, undefined],
    });
  });
});

test('no answer: nobody knows, and a refusal as a whole is named', async () => {
  mock.on(TransactWriteItemsCommand).rejects(Object.assign(new Error('x'), { name: 'TimeoutError' }));
  await expect(store.transact([update])).rejects.toThrow(PortUnavailable);
  mock.on(TransactWriteItemsCommand).rejects(
    Object.assign(new Error('secret'), {
      name: 'AccessDeniedException',
      $fault: 'client',
      $metadata: { httpStatusCode: 400 },
    }),
  );
  await expect(store.transact([update])).rejects.toThrow(EdowError);
  await expect(store.transact([update])).rejects.toThrow(
    'TransactWriteItems was refused: AccessDeniedException',
  );
});

test('a value that DynamoDB does not know: the handler is written wrong, and the value is not told', async () => {
  const write = (value: unknown): TableWrite => ({ Put: { TableName: 'stock', Item: { value } } });
  for (const value of [new Date(0), Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60]) {
    const failed = store.transact([update], [write(value)]);
    await expect(failed).rejects.toThrow(ContractError);
    await expect(failed).rejects.toThrow('holds a value that DynamoDB does not know');
    await expect(failed).rejects.not.toThrow(String(value));
  }
  expect(sent()).toEqual([]);
});
