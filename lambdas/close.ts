/** End-state event of an execution -> the truth of its run. */
import type { EventBridgeEvent } from 'aws-lambda';
import { dynamoClient } from '#adapters/dynamo-client.ts';
import { dynamoStore } from '#adapters/dynamo-store.ts';
import { s3Payloads } from '#adapters/s3-payloads.ts';
import { sfnClient, sfnExecutions } from '#adapters/sfn.ts';
import { systemClock } from '#adapters/system.ts';
import { closer } from '#core/close.ts';
import { ENV } from '#core/env-names.ts';
import { DEPLOYMENT, METRIC } from '#core/metric-names.ts';
import { chain } from '#runtime/chain.ts';
import { type EndDetail, endOfExecution } from '#runtime/end-event.ts';
import { required } from '#runtime/env.ts';
import { count } from '#runtime/metrics.ts';

const stateTable = required(ENV.stateTable);
const executions = sfnExecutions(sfnClient());
const { close } = closer({
  store: dynamoStore(dynamoClient(), stateTable),
  payloads: s3Payloads({ bucket: required(ENV.payloadBucket) }),
  clock: systemClock,
});

export const handler = chain<EventBridgeEvent<string, EndDetail>, void>('close', async (event, context) => {
  const end = await endOfExecution(event.detail, executions, context.log);
  if (end === undefined) return;
  const run = await close(end.runId, end.execution, end.state, context.log);
  if (run?.status === 'held') count(METRIC.heldRuns, 1, { [DEPLOYMENT]: stateTable });
});
