/** End-state event of an execution -> the truth of its run. */
import { dynamoClient } from '#adapters/dynamo-client.ts';
import { dynamoStore } from '#adapters/dynamo-store.ts';
import { s3Payloads } from '#adapters/s3-payloads.ts';
import { sfnClient, sfnExecutions } from '#adapters/sfn.ts';
import { systemClock } from '#adapters/system.ts';
import { ENV } from '#core/env-names.ts';
import { closeEntry } from '#runtime/close-entry.ts';
import { required } from '#runtime/env.ts';

const stateTable = required(ENV.stateTable);

export const handler = closeEntry({
  store: dynamoStore(dynamoClient(), stateTable),
  payloads: s3Payloads({ bucket: required(ENV.payloadBucket) }),
  executions: sfnExecutions(sfnClient()),
  clock: systemClock,
  deployment: stateTable,
});
