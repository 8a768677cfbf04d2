/** The accounts of the payout workflow on a DynamoDB table with the key (account, entry). */
import { type DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { call } from './call.ts';

/** @param table its name */
export const dynamoAccounts = (client: DynamoDBClient, table: string) => ({
  table,
  async head(account: string): Promise<{ readonly entry: number; readonly balanceCents: number }> {
    const { Item } = await call('GetItem', (options) =>
      client.send(
        new GetItemCommand({
          TableName: table,
          Key: { account: { S: account }, entry: { N: '0' } },
          ConsistentRead: true,
        }),
        options,
      ),
    );
    return {
      entry: Number(Item?.['lastEntry']?.N ?? 0),
      balanceCents: Number(Item?.['balanceCents']?.N ?? 0),
    };
  },
});
