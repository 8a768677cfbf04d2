import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { unitsOf } from '#adapters/capacity.ts';
import { dynamoStore } from '#adapters/dynamo-store.ts';
import { requestMeter } from '#adapters/meter.ts';
import { absent, all, to } from '#core/store.ts';

const OPEN = [{ partition: 'openShard', sort: 'checkAt' }];
const names = { '#n0': 'openShard', '#n1': 'checkAt', '#n2': 'status' };
const key = { PK: { S: 'k' }, SK: { S: 's' } };
const open = { ...key, openShard: { S: 'OPEN#1' }, checkAt: { N: '1' } };
const filler = (bytes: number) => ({ S: 'x'.repeat(bytes) });

describe('units of one call', () => {
  test.each([
    ['a small put', 'PutItem', { Item: key }, { response: {} }, { read: 0, write: 1, indexWrite: 0 }],
    [
      'a put of 1 KB and a little',
      'PutItem',
      { Item: { ...key, f: filler(1020) } },
      { response: {} },
      { read: 0, write: 2, indexWrite: 0 },
    ],
    [
      'a put of an index entry',
      'PutItem',
      { Item: open },
      { response: {} },
      { read: 0, write: 1, indexWrite: 1 },
    ],
    [
      'a refused put: the item in its way is paid for',
      'PutItem',
      { Item: open },
      { refusedFor: { ...key, f: filler(3000) } },
      { read: 0, write: 3, indexWrite: 0 },
    ],
    [
      'an update beside the index',
      'UpdateItem',
      { UpdateExpression: 'SET #n2 = :v0', ExpressionAttributeNames: names },
      { response: { Attributes: open } },
      { read: 0, write: 1, indexWrite: 0 },
    ],
    [
      'an update that moves the index entry',
      'UpdateItem',
      { UpdateExpression: 'SET #n1 = :v0', ExpressionAttributeNames: names },
      { response: { Attributes: open } },
      { read: 0, write: 1, indexWrite: 2 },
    ],
    [
      'an update that removes the index entry',
      'UpdateItem',
      { UpdateExpression: 'REMOVE #n0, #n1', ExpressionAttributeNames: names },
      { response: { Attributes: key } },
      { read: 0, write: 1, indexWrite: 1 },
    ],
    [
      'an update that sets one key of an index, of an item that is not in it',
      'UpdateItem',
      { UpdateExpression: 'SET #n0 = :v REMOVE #n9', ExpressionAttributeNames: { ...names, '#n9': 'other' } },
      { response: { Attributes: key } },
      { read: 0, write: 1, indexWrite: 0 },
    ],
    [
      'an update refused for want of an item',
      'UpdateItem',
      {},
      { refusedFor: undefined },
      { read: 0, write: 1, indexWrite: 0 },
    ],
    [
      'a strong read',
      'GetItem',
      { ConsistentRead: true },
      { response: { Item: { ...key, f: filler(4096) } } },
      { read: 2, write: 0, indexWrite: 0 },
    ],
    ['a weak read of nothing', 'GetItem', {}, { response: {} }, { read: 0.5, write: 0, indexWrite: 0 }],
    [
      'a query: sizes are added up before they are rounded',
      'Query',
      { ConsistentRead: true },
      { response: { Items: [key, key, { ...key, f: filler(4096) }] } },
      { read: 2, write: 0, indexWrite: 0 },
    ],
    [
      'a query of nothing',
      'Query',
      { ConsistentRead: true },
      { response: {} },
      { read: 1, write: 0, indexWrite: 0 },
    ],
    [
      'a transaction: twice for each write and check',
      'TransactWriteItems',
      {
        TransactItems: [
          { Update: {} },
          { ConditionCheck: {} },
          { Put: { Item: { ...key, f: filler(1500) } } },
        ],
      },
      { response: {} },
      { read: 0, write: 8, indexWrite: 0 },
    ],
    [
      'a cancelled transaction',
      'TransactWriteItems',
      { TransactItems: [{ Update: {} }, { Delete: {} }] },
      { refusedFor: undefined },
      { read: 0, write: 4, indexWrite: 0 },
    ],
    ['anything else', 'DescribeTable', {}, { response: {} }, undefined],
  ])('%s', (_what, operation, request, outcome, units) => {
    expect(unitsOf(operation, request, outcome, OPEN)).toEqual(units);
  });
});

describe('a watched client', () => {
  /** Stands for DynamoDB: gives these answers in turn, then `{}`. */
  const answers: { status: number; body: object }[] = [];
  let server: Server;
  let client: DynamoDBClient;
  const meter = requestMeter();
  beforeAll(async () => {
    server = createServer((_request, response) => {
      const { status, body } = answers.shift() ?? { status: 200, body: {} };
      response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' }).end(JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    client = new DynamoDBClient({
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      region: 'eu-west-1',
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
      maxAttempts: 2,
    });
    meter.watch(client);
  });
  afterAll(() => {
    client.destroy();
    server.close();
  });
  beforeEach(() => meter.reset());

  const put = () => dynamoStore(client, 't').put({ item: { PK: 'k', SK: 's' }, when: absent });

  test('counts calls by operation and adds up their units', async () => {
    const store = dynamoStore(client, 't');
    await put();
    await store.update({ key: { PK: 'k', SK: 's' }, when: all(), changes: { a: to(1) } });
    await store.get({ PK: 'k', SK: 's' });
    await store.get({ PK: 'k', SK: 's' });
    expect(meter.reading()).toEqual({
      calls: { 'DynamoDB.GetItem': 2, 'DynamoDB.PutItem': 1, 'DynamoDB.UpdateItem': 1 },
      units: { read: 2, write: 2, indexWrite: 0 },
    });
    meter.reset();
    expect(meter.reading()).toEqual({ calls: {}, units: { read: 0, write: 0, indexWrite: 0 } });
  });

  test('counts a refused write as paid, by the item that refused it', async () => {
    const __type = 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException';
    answers.push({ status: 400, body: { __type, message: 'x', Item: { ...key, f: filler(1500) } } });
    expect(await put()).toMatchObject({ written: false });
    expect(meter.reading()).toEqual({
      calls: { 'DynamoDB.PutItem': 1 },
      units: { read: 0, write: 2, indexWrite: 0 },
    });
  });

  test('counts a transaction as one request, and a cancelled one as paid', async () => {
    const update = { key: { PK: 'k', SK: 's' }, when: all(), changes: { a: to(1) } };
    const store = dynamoStore(client, 't');
    expect(await store.transact([update], [{ Put: { TableName: 'o', Item: { id: 'x' } } }])).toEqual({
      written: true,
    });
    const once = {
      calls: { 'DynamoDB.TransactWriteItems': 1 },
      units: { read: 0, write: 4, indexWrite: 0 },
    };
    expect(meter.reading()).toEqual(once);
    meter.reset();
    const __type = 'com.amazonaws.dynamodb.v20120810#TransactionCanceledException';
    const CancellationReasons = [{ Code: 'ConditionalCheckFailed' }, { Code: 'None' }];
    answers.push({ status: 400, body: { __type, message: 'x', CancellationReasons } });
    expect(await store.transact([update], [{ Put: { TableName: 'o', Item: { id: 'x' } } }])).toMatchObject({
      written: false,
    });
    expect(meter.reading()).toEqual(once);
  });

  test("counts the SDK's own retry as a request", async () => {
    answers.push({ status: 500, body: { __type: 'InternalServerError', message: 'x' } });
    await put();
    expect(meter.reading().calls).toEqual({ 'DynamoDB.PutItem': 2 });
  });
});
