/** Work queue of pool shipping -> its tasks. */
import { dynamoClient } from '#adapters/dynamo-client.ts';
import { downstreamFor } from '#runtime/downstream.ts';
import { poolOnAws } from '#runtime/pool-on-aws.ts';
import { shipping } from '#workflows/order/tasks.ts';

const client = dynamoClient();
export const handler = poolOnAws(shipping(downstreamFor(client)), client);
