/** The system's own books, read from the table and from Step Functions. */
import { GetItemCommand, QueryCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import {
  DescribeExecutionCommand,
  type DescribeExecutionCommandOutput,
  GetExecutionHistoryCommand,
  type HistoryEvent,
  ListExecutionsCommand,
} from '@aws-sdk/client-sfn';
import { toItem } from '#adapters/attribute-value.ts';
import { executionArn } from '#adapters/sfn.ts';
import { timelineKey } from '#adapters/view-items.ts';
import { asRun, executionName, type RunItem, runKey, type StepItem, splitPartition } from '#core/items.ts';
import type { Deployed } from './deployed.ts';
import { type Bounds, until } from './until.ts';

export interface Partition {
  readonly run: RunItem;
  readonly steps: readonly StepItem[];
  step(key: string): StepItem;
}

export function ownBooks(system: Deployed) {
  const { dynamo, sfn, stateTable, viewsTable } = system;

  async function run(runId: string): Promise<RunItem | undefined> {
    const { PK, SK } = runKey(runId);
    const { Item } = await dynamo.send(
      new GetItemCommand({
        TableName: stateTable,
        Key: { PK: { S: PK }, SK: { S: SK } },
        ConsistentRead: true,
      }),
    );
    return Item && asRun(toItem(Item));
  }

  async function partition(runId: string): Promise<Partition> {
    const { Items = [] } = await dynamo.send(
      new QueryCommand({
        TableName: stateTable,
        KeyConditionExpression: 'PK = :pk',
        ExpressionAttributeValues: { ':pk': { S: runKey(runId).PK } },
        ConsistentRead: true,
      }),
    );
    const { run: found, steps } = splitPartition(Items.map(toItem));
    if (!found) throw new Error(`no run ${runId} on record`);
    const step = (key: string): StepItem => {
      const one = steps.find(({ stepKey }) => stepKey === key);
      if (!one) throw new Error(`run ${runId} has no step ${key}`);
      return one;
    };
    return { run: found, steps, step };
  }

  /** The run once it has that status. */
  async function runIs(runId: string, status: RunItem['status'], bounds?: Bounds): Promise<RunItem> {
    let last = '';
    try {
      return await until(
        `run ${runId} is ${status}`,
        async () => {
          const now = await run(runId);
          last = `${now?.status} in execution ${now?.execution}`;
          return now?.status === status ? now : undefined;
        },
        bounds,
      );
    } catch (error) {
      throw new Error(`${(error as Error).message} (it is ${last})`);
    }
  }

  const machine = (workflow = 'order'): string => system.machines[workflow] ?? '';

  const execution = (runId: string, number = 1): Promise<DescribeExecutionCommandOutput> =>
    sfn.send(
      new DescribeExecutionCommand({ executionArn: executionArn(machine(), executionName(runId, number)) }),
    );

  async function history(runId: string, number = 1): Promise<HistoryEvent[]> {
    const arn = executionArn(machine(), executionName(runId, number));
    const found: HistoryEvent[] = [];
    let nextToken: string | undefined;
    do {
      const page = await sfn.send(
        new GetExecutionHistoryCommand({ executionArn: arn, ...(nextToken && { nextToken }) }),
      );
      found.push(...(page.events ?? []));
      nextToken = page.nextToken;
    } while (nextToken);
    return found;
  }

  /** Execution names, newest first. */
  async function executions(): Promise<string[]> {
    const names: string[] = [];
    let nextToken: string | undefined;
    do {
      const page = await sfn.send(
        new ListExecutionsCommand({ stateMachineArn: machine(), ...(nextToken && { nextToken }) }),
      );
      names.push(...(page.executions ?? []).map(({ name = '' }) => name));
      nextToken = page.nextToken;
    } while (nextToken);
    return names;
  }

  /** How many runs and idempotency keys are on record. */
  async function counted(): Promise<{ readonly runs: number; readonly keys: number }> {
    const seen = { runs: 0, keys: 0 };
    let from: Record<string, never> | undefined;
    do {
      const page = await dynamo.send(
        new ScanCommand({
          TableName: stateTable,
          ProjectionExpression: 'SK',
          ConsistentRead: true,
          ...(from && { ExclusiveStartKey: from }),
        }),
      );
      for (const { SK } of page.Items ?? []) {
        if (SK?.S === 'RUN') seen.runs += 1;
        if (SK?.S === 'KEY') seen.keys += 1;
      }
      from = page.LastEvaluatedKey as typeof from;
    } while (from);
    return seen;
  }

  /** Event types in the order of the run's timeline, as the read model has them. */
  async function timeline(runId: string): Promise<string[]> {
    const { Items = [] } = await dynamo.send(
      new QueryCommand({
        TableName: viewsTable,
        KeyConditionExpression: 'PK = :pk',
        ExpressionAttributeValues: { ':pk': { S: timelineKey(runId) } },
        ConsistentRead: true,
      }),
    );
    return Items.map(({ type }) => type?.S ?? '');
  }

  return { run, partition, runIs, execution, history, executions, counted, timeline };
}
