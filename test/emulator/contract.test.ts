/** The ports' contracts on the local cloud: what makes the in-memory adapters trustworthy. */
import { describe } from 'vitest';
import { dynamoClient } from '#adapters/dynamo-client.ts';
import { dynamoStore } from '#adapters/dynamo-store.ts';
import { cloudEndpoint, createStateTable } from '#test/cloud-tables.ts';
import { memoryStore } from '#test/memory/store.ts';
import { sameStore, storeContract } from '../contract/store.contract.ts';

cloudEndpoint();

describe('store', () => {
  const dynamo = dynamoClient();
  const make = async () => dynamoStore(dynamo, await createStateTable(dynamo));
  storeContract(make);
  sameStore(async () => memoryStore(), make, 200);
});
