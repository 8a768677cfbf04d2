/** POST /workflows/{name}/runs */
import { dynamoClient } from '#adapters/dynamo-client.ts';
import { dynamoStore } from '#adapters/dynamo-store.ts';
import { s3Payloads } from '#adapters/s3-payloads.ts';
import { sfnClient, sfnExecutions } from '#adapters/sfn.ts';
import { systemClock, systemIds } from '#adapters/system.ts';
import { type DeployedWorkflow, ENV } from '#core/env-names.ts';
import { required, requiredJson } from '#runtime/env.ts';
import { httpEntry } from '#runtime/http-entry.ts';
import { triggerHttp } from '#runtime/trigger-http.ts';
import { contracts } from '#workflows/contracts.ts';

const start = triggerHttp({
  store: dynamoStore(dynamoClient(), required(ENV.stateTable)),
  executions: sfnExecutions(sfnClient()),
  payloads: s3Payloads({ bucket: required(ENV.payloadBucket) }),
  clock: systemClock,
  ids: systemIds(),
  contracts: new Map(contracts.map((contract) => [contract.name, contract])),
  deployed: new Map(Object.entries(requiredJson<Record<string, DeployedWorkflow>>(ENV.workflows))),
  tenants: new Map(Object.entries(requiredJson<Record<string, string>>(ENV.tenants))),
});

export const handler = httpEntry('trigger', start);
