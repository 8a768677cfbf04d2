/** Handlers of the payout workflow. */
import { handle, type TaskHandler } from '#core/contract.ts';
import type { Downstream } from '#core/downstream.ts';
import { PermanentError, UnknownOutcomeError } from '#core/errors.ts';
import { debitAccount, sendPayout } from './contract.ts';

/** The table of accounts: entry 0 of an account is its head, the others are what was booked. */
export interface Accounts {
  readonly table: string;
  /** Number of the last entry and the balance after it; zeros for an account without any. */
  head(account: string): Promise<{ readonly entry: number; readonly balanceCents: number }>;
}

/** How far an account may be overdrawn. */
const OVERDRAFT_CENTS = 1_000_000;

export const ledger = (accounts: Accounts, bank: Downstream): TaskHandler[] => [
  handle(debitAccount, async ({ account, payoutId, amountCents }) => {
    const last = await accounts.head(account);
    const balanceCents = last.balanceCents - amountCents;
    if (balanceCents < -OVERDRAFT_CENTS)
      throw new PermanentError('the account would be overdrawn', { noEffect: true, refused: true });
    const entry = last.entry + 1;
    const TableName = accounts.table;
    return {
      output: { entry, balanceCents },
      writes: [
        {
          Update: {
            TableName,
            Key: { account, entry: 0 },
            UpdateExpression: 'SET lastEntry = :entry, balanceCents = :balance',
            // Who has booked meanwhile makes this false, and the handler reads again.
            ConditionExpression: 'attribute_not_exists(lastEntry) OR lastEntry = :last',
            ExpressionAttributeValues: { ':entry': entry, ':balance': balanceCents, ':last': last.entry },
          },
        },
        { Put: { TableName, Item: { account, entry, payoutId, amountCents } } },
      ],
    };
  }),
  handle(sendPayout, async (input, { taskId, signal }) => {
    const answer = await bank.call({
      operation: 'bank/transfers',
      idempotencyKey: taskId,
      body: input,
      signal,
    });
    if (typeof answer['id'] !== 'string') throw new UnknownOutcomeError('the bank answered without an id');
    return { transferId: answer['id'] };
  }),
];
