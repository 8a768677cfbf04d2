/** Work queue of pool notification -> its tasks. */
import { dynamoClient } from '#adapters/dynamo-client.ts';
import { downstreamFor } from '#runtime/downstream.ts';
import { poolOnAws } from '#runtime/pool-on-aws.ts';
import { notification } from '#workflows/order/tasks.ts';

const client = dynamoClient();
export const handler = poolOnAws(notification(downstreamFor(client)), client);
