/** Read models on DynamoDB. */
import { type DynamoDBClient, QueryCommand, type QueryCommandInput } from '@aws-sdk/client-dynamodb';
import type { RunListQuery, RunRow, Views } from '#core/ports.ts';
import { toItem } from './attribute-value.ts';
import { call } from './call.ts';
import { dynamoStore } from './dynamo-store.ts';
import { asRunRow, asTimelineEntry, runRowPut, runSource, timelineKey, timelinePut } from './view-items.ts';

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
    const page = await call('Query', () => client.send(command));
    rows.push(...(page.Items ?? []).map(toItem).map(asRunRow));
    after = page.LastEvaluatedKey?.['SK']?.S;
    reads++;
  } while (after !== undefined && rows.length < query.limit && reads < MAX_READS);
  return { rows, ...(after !== undefined && { next: after }) };
}

/** @param table name of table `views`, with its indexes `byWorkflow` and `byStatus` */
export function dynamoViews(client: DynamoDBClient, table: string): Views {
  const store = dynamoStore(client, table);
  return {
    putRunRow: async (row) => void (await store.put(runRowPut(row))),
    listRuns: (query) => listRuns(client, table, query),
    addToTimeline: async (entry) => void (await store.put(timelinePut(entry))),
    timeline: async (runId) => (await store.partition(timelineKey(runId))).map(asTimelineEntry),
  };
}
