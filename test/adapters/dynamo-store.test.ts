import {
  ConditionalCheckFailedException,
  DynamoDBClient,
  GetItemCommand,
  ProvisionedThroughputExceededException,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, describe, expect, test } from 'vitest';
import { dynamoStore } from '#adapters/dynamo-store.ts';
import { PortUnavailable } from '#core/errors.ts';
import { absent, all, gone, plus, present, to } from '#core/store.ts';

const mock = mockClient(DynamoDBClient);
afterEach(() => mock.reset());
const store = dynamoStore(new DynamoDBClient({}), 'state');
const key = { PK: 'RUN#1', SK: 'RUN' };
const keyAttributes = { PK: { S: 'RUN#1' }, SK: { S: 'RUN' } };

const sent = () => mock.calls().map(({ args }) => args[0].input);

describe('what is sent', () => {
  test('an update in one request that answers with the item after it or the one that refused it', async () => {
    mock.on(UpdateItemCommand).resolves({ Attributes: { ...keyAttributes, n: { N: '1' } } });
    const result = await store.update({ key, when: present('PK'), changes: { n: plus(1) } });
    expect(result.written).toBe(true);
    expect(result.item).toEqual({ ...key, n: 1 });
    // Converted once: who reads it twice has one item.
    expect(result.item).toBe(result.item);
    expect(sent()).toEqual([
      {
        TableName: 'state',
        Key: keyAttributes,
        UpdateExpression: 'ADD #n0 :v0',
        ConditionExpression: 'attribute_exists(#n1)',
        ExpressionAttributeNames: { '#n0': 'n', '#n1': 'PK' },
        ExpressionAttributeValues: { ':v0': { N: '1' } },
        ReturnValues: 'ALL_NEW',
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      },
    ]);
  });

  test('H16 a row with tiny, huge and many-digit numbers is read, and written, without a crash', async () => {
    const odd = {
      a: { N: '0.0000001' },
      b: { N: '1E+100' },
      c: { N: '-1E-130' },
      d: { N: '9007199254740993' },
    };
    mock.on(GetItemCommand).resolves({ Item: { ...keyAttributes, ...odd } });
    mock.on(UpdateItemCommand).resolves({ Attributes: { ...keyAttributes, ...odd } });
    const read = await store.get(key);
    expect(read).toMatchObject({ a: 1e-7, b: 1e100, c: -1e-130 });
    const write = await store.update({ key, when: all(), changes: { e: to(1e-7), f: to(1e100) } });
    expect(write.item).toEqual(read);
  });

  test('an item handed in as the key sends its key only', async () => {
    mock.on(UpdateItemCommand).resolves({ Attributes: keyAttributes });
    mock.on(GetItemCommand).resolves({});
    const item = { ...key, secret: 'x' };
    await store.update({ key: item, when: all(), changes: { a: gone } });
    expect(await store.get(item)).toBeUndefined();
    const [update, get] = sent();
    expect(update).toEqual({
      TableName: 'state',
      Key: keyAttributes,
      UpdateExpression: 'REMOVE #n0',
      ExpressionAttributeNames: { '#n0': 'a' },
      ReturnValues: 'ALL_NEW',
    });
    expect(get).toEqual({ TableName: 'state', Key: keyAttributes, ConsistentRead: true });
  });

  test('a put without a condition has no empty parts, which DynamoDB refuses', async () => {
    mock.on(PutItemCommand).resolves({});
    await store.put({ item: { ...key, none: undefined }, when: all() });
    expect(sent()).toEqual([{ TableName: 'state', Item: keyAttributes }]);
  });

  test('all pages of a partition, strongly consistent', async () => {
    const page = (sk: string) => ({ PK: { S: 'RUN#1' }, SK: { S: sk } });
    mock
      .on(QueryCommand)
      .resolvesOnce({ Items: [page('A')], LastEvaluatedKey: page('A') })
      .resolvesOnce({ Items: [], LastEvaluatedKey: page('B') })
      .resolvesOnce({ Items: [page('C')] });
    expect((await store.partition('RUN#1')).map(({ SK }) => SK)).toEqual(['A', 'C']);
    const queries = mock.commandCalls(QueryCommand).map(({ args }) => args[0].input);
    expect(queries.map((input) => [input.ConsistentRead, input.ExclusiveStartKey])).toEqual([
      [true, undefined],
      [true, page('A')],
      [true, page('B')],
    ]);
  });

  test('open runs: no page more than the limit needs', async () => {
    const entry = (pk: string) => ({ PK: { S: pk }, SK: { S: 'RUN' }, checkAt: { N: '1' } });
    mock.on(QueryCommand).resolves({ Items: [entry('a'), entry('b')], LastEvaluatedKey: entry('b') });
    expect(await store.openRuns('OPEN#3', 99, 2)).toEqual([
      { PK: 'a', SK: 'RUN' },
      { PK: 'b', SK: 'RUN' },
    ]);
    expect(sent()).toEqual([
      expect.objectContaining({
        IndexName: 'open',
        Limit: 2,
        ExpressionAttributeNames: { '#shard': 'openShard', '#at': 'checkAt' },
        ExpressionAttributeValues: { ':shard': { S: 'OPEN#3' }, ':until': { N: '99' } },
      }),
    ]);
    expect(sent()[0]).not.toHaveProperty('ConsistentRead');
  });
});

describe('what comes back', () => {
  const failed = (item?: typeof keyAttributes) =>
    new ConditionalCheckFailedException({
      message: 'The conditional request failed',
      $metadata: {},
      ...(item && { Item: item }),
    });

  test('a refused condition is an answer, with the item or without', async () => {
    mock.on(UpdateItemCommand).rejects(failed(keyAttributes));
    mock.on(PutItemCommand).rejects(failed());
    expect(await store.update({ key, when: absent, changes: { a: to(1) } })).toEqual({
      written: false,
      item: key,
    });
    expect(await store.put({ item: key, when: present('PK') })).toEqual({ written: false, item: undefined });
  });

  test('throttling leaves the answer open', async () => {
    mock
      .onAnyCommand()
      .rejects(new ProvisionedThroughputExceededException({ message: 'slow down', $metadata: {} }));
    const calls = [
      store.get(key),
      store.update({ key, when: all(), changes: { a: to(1) } }),
      store.put({ item: key, when: all() }),
      store.partition('RUN#1'),
      store.openRuns('OPEN#0', 1, 1),
    ];
    for (const call of calls) await expect(call).rejects.toThrow(PortUnavailable);
  });

  test('a type that no item of ours has is an error, not a guess', async () => {
    mock.on(GetItemCommand).resolves({ Item: { ...keyAttributes, n: { NULL: true } } });
    await expect(store.get(key)).rejects.toThrow('an attribute of type NULL is none of ours');
  });
});
