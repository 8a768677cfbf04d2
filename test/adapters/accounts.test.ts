import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, expect, test } from 'vitest';
import { dynamoAccounts } from '#adapters/accounts.ts';
import { PortUnavailable } from '#core/errors.ts';

const mock = mockClient(DynamoDBClient);
afterEach(() => mock.reset());
const accounts = dynamoAccounts(new DynamoDBClient({}), 'accounts');

test('the head of an account is its entry 0, read strongly', async () => {
  mock.on(GetItemCommand).resolves({ Item: { lastEntry: { N: '3' }, balanceCents: { N: '-1250' } } });
  expect(await accounts.head('a-1')).toEqual({ entry: 3, balanceCents: -1250 });
  expect(mock.call(0).args[0].input).toEqual({
    TableName: 'accounts',
    Key: { account: { S: 'a-1' }, entry: { N: '0' } },
    ConsistentRead: true,
  });
});

test('an account without any entry has none, and no money', async () => {
  mock.on(GetItemCommand).resolves({});
  expect(await accounts.head('new')).toEqual({ entry: 0, balanceCents: 0 });
});

test('a throttled read is told as one that may be tried again', async () => {
  const throttled = { name: 'ProvisionedThroughputExceededException', $fault: 'client', $metadata: {} };
  mock.on(GetItemCommand).rejects(Object.assign(new Error('x'), throttled));
  await expect(accounts.head('a-1')).rejects.toThrow(PortUnavailable);
});
