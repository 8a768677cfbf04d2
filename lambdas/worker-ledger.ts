/** Ordered work queue of pool ledger -> its tasks. */
import { dynamoAccounts } from '#adapters/accounts.ts';
import { dynamoClient } from '#adapters/dynamo-client.ts';
import { ENV } from '#core/env-names.ts';
import { downstreamFor } from '#runtime/downstream.ts';
import { required } from '#runtime/env.ts';
import { poolOnAws } from '#runtime/pool-on-aws.ts';
import { ledger } from '#workflows/payout/tasks.ts';

const client = dynamoClient();
const accounts = dynamoAccounts(client, required(ENV.accountsTable));
export const handler = poolOnAws(ledger(accounts, downstreamFor(client)), client);
