/** Payouts for the reference workflow, and the books of their accounts. */
import { QueryCommand } from '@aws-sdk/client-dynamodb';
import { toItem } from '#adapters/attribute-value.ts';
import type { Deployed } from './deployed.ts';
import { freshId } from './orders.ts';

/** The step whose task calls the bank. */
export const SEND_PAYOUT = { step: 'SendPayout', operation: 'bank/transfers' } as const;

export const aPayout = (account: string, amountCents = 100) => ({
  payoutId: freshId('payout'),
  account,
  amountCents,
});

/** Payout ids in the order of their entries, the entries' numbers, and the head's own word. */
export async function accountBooks(
  { dynamo, accountsTable }: Pick<Deployed, 'dynamo' | 'accountsTable'>,
  account: string,
) {
  const { Items = [] } = await dynamo.send(
    new QueryCommand({
      TableName: accountsTable,
      KeyConditionExpression: 'account = :account',
      ExpressionAttributeValues: { ':account': { S: account } },
      ConsistentRead: true,
    }),
  );
  const [head, ...entries] = Items.map(toItem);
  return {
    lastEntry: head?.['lastEntry'],
    balanceCents: head?.['balanceCents'],
    numbers: entries.map(({ entry }) => entry),
    payouts: entries.map(({ payoutId }) => payoutId),
  };
}
