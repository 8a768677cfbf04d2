/**
 * The reference of ordered pools and of modes: debit an account, in order and exactly once, then send the money, once at
 * most.
 */
import * as z from 'zod/mini';
import { defineTask, defineWorkflow } from '#core/contract.ts';

const id = z.string().check(z.minLength(1), z.maxLength(64));
const amountCents = z.int().check(z.positive(), z.maximum(100_000_000));

/** Input of a run. */
export const payout = z.object({ payoutId: id, account: id, amountCents });

/** Its effect is in our own table: one transaction with the result, so that it happens exactly once. */
export const debitAccount = defineTask({
  type: 'ledger.account.debit',
  version: 1,
  input: payout,
  output: z.object({ entry: z.int(), balanceCents: z.int() }),
  event: 'ledger.account.debited',
  timeoutSeconds: 600,
  undo: 'ledger.account.credit',
  mode: 'transactional',
  orderBy: 'account',
});

/** The bank knows no idempotency key: what it may have done is never asked for again without a person's word. */
export const sendPayout = defineTask({
  type: 'ledger.payout.send',
  version: 1,
  input: payout,
  output: z.object({ transferId: z.string() }),
  event: 'ledger.payout.sent',
  timeoutSeconds: 600,
  undo: { none: 'money that was sent comes back by a transfer of its own' },
  mode: 'atMostOnce',
  orderBy: 'account',
});

export const payoutWorkflow = defineWorkflow({
  name: 'payout',
  input: payout,
  tasks: [debitAccount, sendPayout],
});
