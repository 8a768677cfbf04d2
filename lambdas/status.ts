/** GET /runs/{id} and GET /runs */
import { dynamoClient } from '#adapters/dynamo-client.ts';
import { dynamoStore } from '#adapters/dynamo-store.ts';
import { dynamoViews } from '#adapters/dynamo-views.ts';
import { s3Payloads } from '#adapters/s3-payloads.ts';
import { ENV } from '#core/env-names.ts';
import { required, requiredJson } from '#runtime/env.ts';
import { httpEntry } from '#runtime/http-entry.ts';
import { statusHttp } from '#runtime/status-http.ts';

const client = dynamoClient();
const status = statusHttp({
  store: dynamoStore(client, required(ENV.stateTable)),
  views: dynamoViews(client, required(ENV.viewsTable)),
  payloads: s3Payloads({ bucket: required(ENV.payloadBucket) }),
  tenants: new Map(Object.entries(requiredJson<Record<string, string>>(ENV.tenants))),
});

export const handler = httpEntry('status', status);
