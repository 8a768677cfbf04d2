/** Tables for suites that run against a cloud: as the stack makes them, in a cloud that a suite may litter. */
import {
  type AttributeDefinition,
  CreateTableCommand,
  type DynamoDBClient,
  type GlobalSecondaryIndex,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { BY_STATUS_INDEX, BY_WORKFLOW_INDEX, DEAD_INDEX, OPEN_INDEX, TABLE_KEY } from '#core/tables.ts';

/**
 * The local cloud's address, which its runner sets.
 * @throws Error when it is not set: nothing may reach real AWS by accident, and no suite may pass by skipping
 */
export function cloudEndpoint(): string {
  const endpoint = process.env['AWS_ENDPOINT_URL'];
  if (!endpoint)
    throw new Error(
      'AWS_ENDPOINT_URL is not set: start the local cloud and run this project through its script',
    );
  return endpoint;
}

const index = (
  { name, partition, sort }: { name: string; partition: string; sort: string },
  projection: 'ALL' | 'KEYS_ONLY',
): GlobalSecondaryIndex => ({
  IndexName: name,
  KeySchema: [
    { AttributeName: partition, KeyType: 'HASH' },
    { AttributeName: sort, KeyType: 'RANGE' },
  ],
  Projection: { ProjectionType: projection },
});

async function createTable(
  client: DynamoDBClient,
  name: string,
  attributes: readonly AttributeDefinition[],
  indexes: GlobalSecondaryIndex[],
): Promise<string> {
  const TableName = `${name}-${Date.now().toString(36)}-${process.pid}`;
  await client.send(
    new CreateTableCommand({
      TableName,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [
        { AttributeName: TABLE_KEY.partition, KeyType: 'HASH' },
        { AttributeName: TABLE_KEY.sort, KeyType: 'RANGE' },
      ],
      AttributeDefinitions: [
        { AttributeName: TABLE_KEY.partition, AttributeType: 'S' },
        { AttributeName: TABLE_KEY.sort, AttributeType: 'S' },
        ...attributes,
      ],
      GlobalSecondaryIndexes: indexes,
    }),
  );
  await waitUntilTableExists({ client, minDelay: 1, maxDelay: 2, maxWaitTime: 60 }, { TableName });
  return TableName;
}

/** Makes a table like `state` and returns its name, which no other table has. */
export const createStateTable = (client: DynamoDBClient): Promise<string> =>
  createTable(
    client,
    'contract-state',
    [
      { AttributeName: OPEN_INDEX.partition, AttributeType: 'S' },
      { AttributeName: OPEN_INDEX.sort, AttributeType: 'N' },
    ],
    [index(OPEN_INDEX, 'KEYS_ONLY')],
  );

/** Makes a table like `views` and returns its name. */
export const createViewsTable = (client: DynamoDBClient): Promise<string> =>
  createTable(
    client,
    'contract-views',
    [
      BY_WORKFLOW_INDEX.partition,
      BY_STATUS_INDEX.partition,
      BY_STATUS_INDEX.sort,
      DEAD_INDEX.partition,
      DEAD_INDEX.sort,
    ].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
    [index(BY_WORKFLOW_INDEX, 'ALL'), index(BY_STATUS_INDEX, 'ALL'), index(DEAD_INDEX, 'ALL')],
  );
