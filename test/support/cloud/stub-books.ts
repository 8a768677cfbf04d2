/** The stub downstream's own books, and the faults planned for it. */
import { DeleteItemCommand, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { callKey, faultKey, type PlannedFault } from '#adapters/downstream-stub.ts';
import { taskIdOf } from '#core/items.ts';
import type { Deployed } from './deployed.ts';
import { STEPS, type StepKey } from './orders.ts';
import { SEND_PAYOUT } from './payouts.ts';

export interface Booked {
  /** Requests that came in with this idempotency key. */
  readonly calls: number;
  /** Effects that they had. */
  readonly effects: number;
  /** Requests that were answered with the effect's id. */
  readonly taken: number;
}

/** Steps that call the downstream. */
type CallingStep = StepKey | typeof SEND_PAYOUT.step;

const operationOf = (step: CallingStep): string => {
  const found = [...STEPS, SEND_PAYOUT].find((one) => one.step === step);
  if (!found) throw new Error(`no step ${step}`);
  return found.operation;
};

export function stubBooks({ dynamo, stubTable: TableName }: Pick<Deployed, 'dynamo' | 'stubTable'>) {
  return {
    /** What the downstream saw of the step's task. */
    async booked(runId: string, step: CallingStep): Promise<Booked> {
      const Key = callKey(operationOf(step), taskIdOf(runId, step));
      const { Item } = await dynamo.send(new GetItemCommand({ TableName, Key, ConsistentRead: true }));
      const number = (name: string): number => Number(Item?.[name]?.N ?? 0);
      return { calls: number('calls'), effects: number('effects'), taken: number('taken') };
    },
    async plan(step: CallingStep, subject: string, fault: PlannedFault): Promise<void> {
      await dynamo.send(
        new PutItemCommand({
          TableName,
          Item: {
            ...faultKey(operationOf(step), subject),
            fails: { N: String(fault.fails) },
            kind: { S: fault.kind },
            ...(fault.retryAfter !== undefined && { retryAfter: { N: String(fault.retryAfter) } }),
          },
        }),
      );
    },
    async mend(step: CallingStep, subject: string): Promise<void> {
      const Key = faultKey(operationOf(step), subject);
      await dynamo.send(new DeleteItemCommand({ TableName, Key }));
    },
  };
}

export type StubBooks = ReturnType<typeof stubBooks>;
