/** Our worker chain around the bench's task. */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { dynamoStore } from '#adapters/dynamo-store.ts';
import { s3Payloads } from '#adapters/s3-payloads.ts';
import { systemClock, systemIds } from '#adapters/system.ts';
import { defineTask, handle } from '#core/contract.ts';
import { workerPool } from '#runtime/worker-pool.ts';
import { input, output, work } from './task.ts';

const contract = defineTask({
  type: 'inventory.stock.reserve',
  version: 1,
  input,
  output,
  event: 'inventory.stock.reserved',
  timeoutSeconds: 600,
  undo: 'inventory.stock.release',
});

export const make = (client: DynamoDBClient) =>
  workerPool(
    {
      store: dynamoStore(client, 'state'),
      payloads: s3Payloads({ bucket: 'payloads' }),
      visibility: { change: async () => {} },
      clock: systemClock,
      ids: systemIds(),
      version: 'bench',
    },
    [handle(contract, work)],
  );
