/** Read models on DynamoDB, with their lists. */
import { type DynamoDBClient, QueryCommand, type QueryCommandInput } from '@aws-sdk/client-dynamodb';
import type { DeadQuery, DeadRow } from '#core/dead-rows.ts';
import type { RunListQuery, RunRow, Views } from '#core/ports.ts';
import { DEAD_INDEX } from '#core/tables.ts';
import { toItem } from './attribute-value.ts';
import { call } from './call.ts';
import { dynamoStore } from './dynamo-store.ts';
import { asDeadRow, asRunRow, deadBounds, deadShard, runSource } from './view-items.ts';
import { viewRows } from './view-rows.ts';

/** Requests of one filtered page: a rare workflow cannot make one call long. A page may be short and go on. */
const MAX_READS = 5;

/**
 * A position is the runId of the last row read. It is a sort key below the caller's own partition key, so that a
 * made-up position shows nothing of another tenant.
 */
function queryOf(table: string, query: RunListQuery, after: string | undefined): QueryCommandInput {
  const { index, partition, sort, workflow } = runSource(query);
  return {
    TableName: table,
    ...(index && { IndexName: index }),
    KeyConditionExpression: after === undefined ? '#key = :key' : '#key = :key AND #sort < :after',
    ...(workflow !== undefined && { FilterExpression: '#workflow = :workflow' }),
    ExpressionAttributeNames: {
      '#key': partition.attr,
      ...(after !== undefined && { '#sort': sort }),
      ...(workflow !== undefined && { '#workflow': 'workflow' }),
    },
    ExpressionAttributeValues: {
      ':key': { S: partition.value },
      ...(after !== undefined && { ':after': { S: after } }),
      ...(workflow !== undefined && { ':workflow': { S: workflow } }),
    },
    ScanIndexForward: false,
    Limit: query.limit,
  };
}

async function listRuns(
  client: DynamoDBClient,
  table: string,
  query: RunListQuery,
): ReturnType<Views['listRuns']> {
  const rows: RunRow[] = [];
  let after = query.after;
  let reads = 0;
  do {
    // Asked for what is still missing, so that a page never holds more rows than it may.
    const missing = { ...query, limit: query.limit - rows.length };
    const command = new QueryCommand(queryOf(table, missing, after));
    const page = await call('Query', (options) => client.send(command, options));
    rows.push(...(page.Items ?? []).map(toItem).map(asRunRow));
    after = page.LastEvaluatedKey?.['SK']?.S;
    reads++;
  } while (after !== undefined && rows.length < query.limit && reads < MAX_READS);
  return { rows, ...(after !== undefined && { next: after }) };
}

async function listDead(
  client: DynamoDBClient,
  table: string,
  query: DeadQuery,
): ReturnType<Views['listDead']> {
  const { from, until } = deadBounds(query);
  const command = new QueryCommand({
    TableName: table,
    IndexName: DEAD_INDEX.name,
    KeyConditionExpression: '#shard = :shard AND #sort BETWEEN :from AND :until',
    ExpressionAttributeNames: { '#shard': DEAD_INDEX.partition, '#sort': DEAD_INDEX.sort },
    ExpressionAttributeValues: {
      ':shard': { S: deadShard(query.shard) },
      ':from': { S: from || ' ' },
      ':until': { S: until },
    },
    ScanIndexForward: false,
    // The last row of the page before comes again.
    Limit: query.limit + (query.after === undefined ? 0 : 1),
  });
  const page = await call('Query', (options) => client.send(command, options));
  const items = (page.Items ?? []).map(toItem).filter((item) => item[DEAD_INDEX.sort] !== query.after);
  const rows: DeadRow[] = items.flatMap((item) => asDeadRow(item) ?? []);
  const next = page.LastEvaluatedKey?.[DEAD_INDEX.sort]?.S;
  return { rows, ...(next !== undefined && { next }) };
}

/** @param table name of table `views`, with its indexes `byWorkflow`, `byStatus` and `dead` */
export const dynamoViews = (client: DynamoDBClient, table: string): Views => ({
  ...viewRows(dynamoStore(client, table)),
  listRuns: (query) => listRuns(client, table, query),
  listDead: (query) => listDead(client, table, query),
});
