/** A worker pool on its queue, its table and its bucket: what every worker lambda shares. */
import { dynamoClient } from '#adapters/dynamo-client.ts';
import { dynamoStore } from '#adapters/dynamo-store.ts';
import { s3Payloads } from '#adapters/s3-payloads.ts';
import { sqsClient, sqsVisibility } from '#adapters/sqs.ts';
import { systemClock, systemIds } from '#adapters/system.ts';
import type { TaskHandler } from '#core/contract.ts';
import { ENV } from '#core/env-names.ts';
import { optional, required } from './env.ts';
import { workerPool } from './worker-pool.ts';

export function poolOnAws(handlers: readonly TaskHandler[], client = dynamoClient()) {
  const pool = optional(ENV.orderedPool);
  return workerPool(
    {
      store: dynamoStore(client, required(ENV.stateTable)),
      payloads: s3Payloads({ bucket: required(ENV.payloadBucket) }),
      visibility: sqsVisibility(sqsClient(), required(ENV.workQueue)),
      clock: systemClock,
      ids: systemIds(),
      version: required(ENV.version),
      ...(pool !== undefined && { pool }),
    },
    handlers,
    { concurrency: Number(required(ENV.batchConcurrency)) },
  );
}
