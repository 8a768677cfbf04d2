/** Names by which ordered pools keep tasks apart and tell copies. */
import { hash } from 'node:crypto';
import type { Command } from './envelope.ts';
import { ContractError } from './errors.ts';

/** 192 bits: no two keys of a pool share them by chance. */
const hashOf = (...parts: readonly (string | number)[]): string =>
  hash('sha256', JSON.stringify(parts), 'base64url').slice(0, 32);

/**
 * The partition key of a command: a hash, so that an account or a person is not named by queues and logs.
 * @param orderBy field of the data, text or a number
 * @throws ContractError where the data has no such field: there is no order to keep
 */
export function partitionKeyOf(tenant: string, type: string, orderBy: string, data: unknown): string {
  const value = (data as Record<string, unknown> | null)?.[orderBy];
  if ((typeof value === 'string' && value !== '') || typeof value === 'number')
    return hashOf(tenant, String(value));
  throw new ContractError(
    `tasks of ${type} are ordered by "${orderBy}", and this input has no text or number there: map one to it`,
  );
}

/**
 * SQS's deduplication id: the same for what must be one message within five minutes (a publication whose answer was
 * lost), another for each new chance.
 */
export const deduplicationId = ({ id, execution, entry }: Command, replay: number): string =>
  hashOf(id, execution, entry, replay);
