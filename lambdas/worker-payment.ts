/** Work queue of pool payment -> its tasks. */
import { dynamoClient } from '#adapters/dynamo-client.ts';
import { downstreamFor } from '#runtime/downstream.ts';
import { poolOnAws } from '#runtime/pool-on-aws.ts';
import { payment } from '#workflows/order/tasks.ts';

const client = dynamoClient();
export const handler = poolOnAws(payment(downstreamFor(client)), client);
