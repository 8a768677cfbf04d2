/** Work queue of pool inventory -> its tasks. */
import { dynamoClient } from '#adapters/dynamo-client.ts';
import { downstreamFor } from '#runtime/downstream.ts';
import { poolOnAws } from '#runtime/pool-on-aws.ts';
import { inventory } from '#workflows/order/tasks.ts';

const client = dynamoClient();
export const handler = poolOnAws(inventory(downstreamFor(client)), client);
