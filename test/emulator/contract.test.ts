/** The ports' contracts on the local cloud: what makes the in-memory adapters trustworthy. */
import { describe } from 'vitest';
import { dynamoClient } from '#adapters/dynamo-client.ts';
import { dynamoStore } from '#adapters/dynamo-store.ts';
import { dynamoViews } from '#adapters/dynamo-views.ts';
import {
  cloudPayloads,
  cloudQueues,
  cloudRetelling,
  cloudStateMachines,
  cloudTopic,
} from '#test/cloud-fixtures.ts';
import { cloudEndpoint, createStateTable, createViewsTable } from '#test/cloud-tables.ts';
import { memoryStore } from '#test/memory/store.ts';
import { payloadsContract } from '../contract/payloads.contract.ts';
import { queuesContract } from '../contract/queues.contract.ts';
import { retellingContract } from '../contract/retelling.contract.ts';
import { stateMachinesContract } from '../contract/state-machines.contract.ts';
import { sameStore, storeContract } from '../contract/store.contract.ts';
import { topicContract } from '../contract/topic.contract.ts';
import { viewsContract } from '../contract/views.contract.ts';

cloudEndpoint();
const dynamo = dynamoClient();

describe('store', () => {
  const make = async () => dynamoStore(dynamo, await createStateTable(dynamo));
  storeContract(make);
  sameStore(async () => memoryStore(), make, 200);
});
describe('views', () => viewsContract(async () => dynamoViews(dynamo, await createViewsTable(dynamo))));
describe('payloads', () => payloadsContract(cloudPayloads));
describe('topic', () => topicContract(cloudTopic));
describe('task tokens and executions', () => stateMachinesContract(cloudStateMachines));
describe('queues', () => queuesContract(cloudQueues));
describe('retelling', () => retellingContract(cloudRetelling));
