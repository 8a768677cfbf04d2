import { describe } from 'vitest';
import { memoryStore } from '#test/memory/store.ts';
import { storeContract } from './store.contract.ts';

describe('store', () => {
  storeContract(async () => memoryStore());
});
