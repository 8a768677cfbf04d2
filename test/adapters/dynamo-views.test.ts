import { DynamoDBClient, PutItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, expect, test } from 'vitest';
import { dynamoViews } from '#adapters/dynamo-views.ts';

const mock = mockClient(DynamoDBClient);
afterEach(() => mock.reset());
const views = dynamoViews(new DynamoDBClient({}), 'views');

const stored = (runId: string) => ({ PK: { S: 'RUNS#acme' }, SK: { S: runId }, runId: { S: runId } });
const queries = () => mock.commandCalls(QueryCommand).map(({ args }) => args[0].input);

test('a row carries the keys of both indexes and gives way to a newer one only', async () => {
  mock.on(PutItemCommand).resolves({});
  await views.putRunRow({
    tenant: 'acme',
    runId: '01A',
    workflow: 'order',
    status: 'held',
    execution: 2,
    startedAt: 1,
    updatedAt: 2,
    seq: 9,
  });
  expect(mock.call(0).args[0].input).toMatchObject({
    Item: {
      PK: { S: 'RUNS#acme' },
      SK: { S: '01A' },
      runId: { S: '01A' },
      workflowKey: { S: 'acme#order' },
      statusKey: { S: 'acme#held' },
    },
    ConditionExpression: '(attribute_not_exists(#n0) OR #n1 < :v0)',
    ExpressionAttributeNames: { '#n0': 'PK', '#n1': 'seq' },
    ExpressionAttributeValues: { ':v0': { N: '9' } },
  });
});

test('both filters: the index of the status, the workflow as a filter, after the position', async () => {
  mock.on(QueryCommand).resolves({ Items: [stored('01A')] });
  const page = await views.listRuns({
    tenant: 'acme',
    status: 'held',
    workflow: 'order',
    limit: 5,
    after: '01B',
  });
  expect(page).toEqual({ rows: [{ runId: '01A' }] });
  expect(queries()).toEqual([
    {
      TableName: 'views',
      IndexName: 'byStatus',
      KeyConditionExpression: '#key = :key AND #sort < :after',
      FilterExpression: '#workflow = :workflow',
      ExpressionAttributeNames: { '#key': 'statusKey', '#sort': 'runId', '#workflow': 'workflow' },
      ExpressionAttributeValues: {
        ':key': { S: 'acme#held' },
        ':after': { S: '01B' },
        ':workflow': { S: 'order' },
      },
      ScanIndexForward: false,
      Limit: 5,
    },
  ]);
});

test('a filter that finds little is asked five times at most, and the page says where it stopped', async () => {
  let asked = 0;
  mock.on(QueryCommand).callsFake(() => {
    asked++;
    return { Items: asked === 2 ? [stored('01Y')] : [], LastEvaluatedKey: stored(`01X${asked}`) };
  });
  const page = await views.listRuns({ tenant: 'acme', status: 'held', workflow: 'rare', limit: 3 });
  expect(page).toEqual({ rows: [{ runId: '01Y' }], next: '01X5' });
  expect(queries().map(({ Limit }) => Limit)).toEqual([3, 3, 2, 2, 2]);
  expect(queries()[1]?.ExpressionAttributeValues).toMatchObject({ ':after': { S: '01X1' } });
});
