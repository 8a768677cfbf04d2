/** A DynamoDB client that answers what a table would, without a wire: both workers pay the same nothing for it. */
import { ConditionalCheckFailedException, DynamoDBClient } from '@aws-sdk/client-dynamodb';

const CLAIMED = {
  Attributes: {
    PK: { S: 'RUN#01M8MGTES5BQPMCY5CWF9CK7KB' },
    SK: { S: 'STEP#ReserveStock' },
    runId: { S: '01M8MGTES5BQPMCY5CWF9CK7KB' },
    stepKey: { S: 'ReserveStock' },
    type: { S: 'inventory.stock.reserve' },
    token: { S: 'token'.repeat(40) },
    execution: { N: '10000' },
    entry: { N: '0' },
    deadline: { N: '1900000000000' },
    timeoutSeconds: { N: '600' },
    entered: { N: '1800000000000' },
    firstEntered: { N: '1800000000000' },
    version: { N: '1' },
    tryLimit: { N: '5' },
    input: {
      S: '{"orderId":{"$from":"input","path":["orderId"]},"lines":{"$from":"input","path":["lines"]}}',
    },
    status: { S: 'claimed' },
    fence: { N: '1' },
    tries: { N: '1' },
    started: { N: '1' },
    clean: { N: '0' },
    seq: { N: '0' },
    owner: { S: 'c0ffee00c0ffee00' },
    leaseUntil: { N: '1900000000000' },
    claimedAt: { N: '1800000000000' },
    outcomeExecution: { N: '10000' },
    met: { SS: ['10000.0'] },
  },
};
const DONE = { Attributes: { ...CLAIMED.Attributes, status: { S: 'done' } } };
/** What a worker reads that has perhaps seen the task before, one time in a thousand. */
const READY = { Item: { ...CLAIMED.Attributes, status: { S: 'ready' }, tries: { N: '0' } } };

interface Command {
  readonly input: {
    readonly Item?: object;
    readonly ReturnValues?: string;
    readonly UpdateExpression?: string;
    readonly ExpressionAttributeValues?: Readonly<Record<string, { readonly S?: string }>>;
  };
}

/**
 * @param counts requests by kind
 * @param finished every task is done: writes are refused. Default: every task is ready, then claimed
 */
export function stubClient(counts: Map<string, number>, finished = false): DynamoDBClient {
  const client = new DynamoDBClient({ region: 'us-east-1' });
  const send = async ({ input }: Command) => {
    const kind = input.UpdateExpression !== undefined ? 'update' : input.Item ? 'put' : 'get';
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    if (kind === 'get') return finished ? { Item: DONE.Attributes } : READY;
    if (finished)
      throw new ConditionalCheckFailedException({
        message: 'the condition is false',
        $metadata: {},
        Item: DONE.Attributes,
      });
    if (input.ReturnValues !== 'ALL_NEW') return {};
    const values = Object.values(input.ExpressionAttributeValues ?? {});
    return values.some(({ S }) => S === 'done') ? DONE : CLAIMED;
  };
  return Object.assign(client, { send });
}
