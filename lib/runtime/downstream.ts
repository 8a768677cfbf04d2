/** The reference workers' downstream: the real one where an address is set, else the stub. */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { httpDownstream } from '#adapters/downstream-http.ts';
import { stubDownstream } from '#adapters/downstream-stub.ts';
import type { Downstream } from '#core/downstream.ts';
import { ENV } from '#core/env-names.ts';
import { required } from './env.ts';

export const downstreamFor = (client: DynamoDBClient): Downstream => {
  const url = process.env[ENV.downstreamUrl];
  return url ? httpDownstream(url) : stubDownstream(client, required(ENV.stubTable));
};
