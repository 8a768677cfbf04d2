import {
  ConditionalCheckFailedException,
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
  UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb';
import { OPEN_INDEX } from '#core/tables.ts';
import { until } from '#test/cloud/until.ts';
import type { Bench } from './bench.ts';
import { type Check, every, type Finding, present, same } from './checks.ts';

const key = (SK: string) => ({ PK: { S: 'P' }, SK: { S: SK } });

/** A put that its own condition refuses: what the error shows. */
async function refused(bench: Bench, table: string, SK: string): Promise<unknown> {
  const put = bench.system.dynamo.send(
    new PutItemCommand({
      TableName: table,
      Item: { ...key(SK), n: { N: '2' } },
      ConditionExpression: 'attribute_not_exists(PK) AND n < :one',
      ExpressionAttributeValues: { ':one': { N: '1' } },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    }),
  );
  return put.then(
    () => 'written',
    (error: unknown) =>
      error instanceof ConditionalCheckFailedException ? (error.Item ?? 'no item') : error,
  );
}

export const tables: readonly Check[] = [
  {
    id: 'dynamodb.condition-old-item',
    need: 'a refused write shows the item that it was refused for, and none where there is none',
    look: async (bench) => {
      const { name } = await bench.table('items');
      await bench.system.dynamo.send(
        new PutItemCommand({ TableName: name, Item: { ...key('A'), n: { N: '1' } } }),
      );
      return every(
        same(await refused(bench, name, 'A'), { n: { N: '1' }, ...key('A') }) === 'works'
          ? 'works'
          : same(Object.keys((await refused(bench, name, 'A')) as object).toSorted(), ['PK', 'SK', 'n']),
        same(await refused(bench, name, 'B'), 'no item'),
      );
    },
  },
  {
    id: 'dynamodb.one-winner',
    need: 'of writes at the same time with one condition exactly one is done',
    look: async (bench) => {
      const { name } = await bench.table('race');
      const claims = Array.from({ length: 10 }, (_, n) =>
        bench.system.dynamo
          .send(
            new UpdateItemCommand({
              TableName: name,
              Key: key('A'),
              UpdateExpression: 'SET #o = :me',
              ConditionExpression: 'attribute_not_exists(#o)',
              ExpressionAttributeNames: { '#o': 'owner' },
              ExpressionAttributeValues: { ':me': { N: String(n) } },
            }),
          )
          .then(
            () => 1,
            () => 0,
          ),
      );
      return same(
        (await Promise.all(claims)).reduce<number>((sum, won) => sum + won, 0),
        1,
      );
    },
  },
  {
    id: 'dynamodb.old-values',
    need: 'an update reads the item as it was before, sets members once, and keeps what is there',
    look: async (bench) => {
      const { name } = await bench.table('update');
      await bench.system.dynamo.send(
        new PutItemCommand({
          TableName: name,
          Item: { ...key('A'), fence: { N: '4' }, execution: { N: '7' } },
        }),
      );
      const { Attributes } = await bench.system.dynamo.send(
        new UpdateItemCommand({
          TableName: name,
          Key: key('A'),
          UpdateExpression:
            'SET fence = fence + :one, execution = :new, seen = execution, kept = if_not_exists(fence, :one) ADD met :met',
          ExpressionAttributeValues: { ':one': { N: '1' }, ':new': { N: '8' }, ':met': { SS: ['a'] } },
          ReturnValues: 'ALL_NEW',
        }),
      );
      const { fence, execution, seen, kept, met } = Attributes ?? {};
      return same([fence?.N, execution?.N, seen?.N, kept?.N, met?.SS], ['5', '8', '7', '4', ['a']]);
    },
  },
  {
    id: 'dynamodb.sparse-index',
    need: 'an index holds the items that have its keys, in order, and lets go of one that loses them',
    look: async (bench) => {
      const { name } = await bench.table(
        'index',
        [
          { AttributeName: 'shard', AttributeType: 'S' },
          { AttributeName: 'at', AttributeType: 'N' },
        ],
        [
          {
            IndexName: 'open',
            KeySchema: [
              { AttributeName: 'shard', KeyType: 'HASH' },
              { AttributeName: 'at', KeyType: 'RANGE' },
            ],
            Projection: { ProjectionType: 'KEYS_ONLY' },
          },
        ],
      );
      const { dynamo } = bench.system;
      for (const [SK, at] of [
        ['A', '30'],
        ['B', '10'],
        ['C', '20'],
      ] as const)
        await dynamo.send(
          new PutItemCommand({
            TableName: name,
            Item: { ...key(SK), shard: { S: 's' }, at: { N: at }, more: { S: 'x' } },
          }),
        );
      await dynamo.send(new PutItemCommand({ TableName: name, Item: key('D') }));
      await dynamo.send(
        new UpdateItemCommand({
          TableName: name,
          Key: key('C'),
          UpdateExpression: 'REMOVE #s, #a',
          ExpressionAttributeNames: { '#s': 'shard', '#a': 'at' },
        }),
      );
      const keys = await until('the index has caught up', async () => {
        const { Items = [] } = await dynamo.send(
          new QueryCommand({
            TableName: name,
            IndexName: 'open',
            KeyConditionExpression: '#s = :s',
            ExpressionAttributeNames: { '#s': 'shard' },
            ExpressionAttributeValues: { ':s': { S: 's' } },
          }),
        );
        return Items.length === 2 ? Items : undefined;
      });
      return every(
        same(
          keys.map(({ SK }) => SK?.S),
          ['B', 'A'],
        ),
        same(keys[0]?.['more'], undefined),
      );
    },
  },
  {
    id: 'dynamodb.item-limit',
    need: 'an item over 400 KB is refused',
    look: async (bench) => {
      const { name } = await bench.table('large');
      const put = bench.system.dynamo.send(
        new PutItemCommand({ TableName: name, Item: { ...key('A'), x: { S: 'x'.repeat(410_000) } } }),
      );
      return put.then(
        (): Finding => ({ differs: 'it was taken' }),
        () => 'works',
      );
    },
  },
  {
    id: 'dynamodb.deployed-stream',
    need: 'the deployed state table streams both images and has its index of open runs',
    look: async ({ system }) => {
      const { Table } = await system.dynamo.send(new DescribeTableCommand({ TableName: system.stateTable }));
      return every(
        same(Table?.StreamSpecification?.StreamViewType, 'NEW_AND_OLD_IMAGES'),
        same(Table?.GlobalSecondaryIndexes?.[0]?.IndexName, OPEN_INDEX.name),
        same(Table?.GlobalSecondaryIndexes?.[0]?.Projection?.ProjectionType, 'KEYS_ONLY'),
      );
    },
  },
  {
    id: 'dynamodb.deployed-ttl',
    need: 'the deployed state table expires items by `expiresAt`, as its template says',
    look: async ({ system }) => {
      const { TimeToLiveDescription } = await system.dynamo.send(
        new DescribeTimeToLiveCommand({ TableName: system.stateTable }),
      );
      return present('the setting of the template was dropped', TimeToLiveDescription?.AttributeName);
    },
  },
  {
    id: 'dynamodb.ttl-call',
    need: 'expiry can be set by a call, where a deploy did not',
    look: async (bench) => {
      const { name } = await bench.table('ttl');
      await bench.system.dynamo.send(
        new UpdateTimeToLiveCommand({
          TableName: name,
          TimeToLiveSpecification: { AttributeName: 'expiresAt', Enabled: true },
        }),
      );
      const { TimeToLiveDescription } = await bench.system.dynamo.send(
        new DescribeTimeToLiveCommand({ TableName: name }),
      );
      return same(TimeToLiveDescription?.AttributeName, 'expiresAt');
    },
  },
  {
    id: 'dynamodb.deployed-backups',
    need: 'the deployed state table can be restored to any point in time, as its template says',
    look: async ({ system }) => {
      const { ContinuousBackupsDescription } = await system.dynamo.send(
        new DescribeContinuousBackupsCommand({ TableName: system.stateTable }),
      );
      const status = ContinuousBackupsDescription?.PointInTimeRecoveryDescription?.PointInTimeRecoveryStatus;
      return present('the setting of the template was dropped', status === 'ENABLED' ? status : undefined);
    },
  },
];
