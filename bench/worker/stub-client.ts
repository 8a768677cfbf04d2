/**
 * DynamoDB clients that answer what a table would.
 *
 * What is compared is the wrapper around a task: all that happens between the event of Lambda and the call of the
 * client, and what is made of its answer. So `stubClient` ends at `send`, as mocks of the SDK do: neither side pays for
 * the SDK's own work (serialise, sign, parse), which is the same code and the same number of requests for both. Beside
 * it, and without a goal, `wireClient` ends at the wire and lets both sides pay for all of it. Both builds send two
 * writes a record and one log line; ours gets back and reads the whole item (ALL_NEW), the usual build an empty answer.
 */
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
    // The status is the first that both of our writes change. One look: a table's work is on nobody's account.
    return input.ExpressionAttributeValues?.[':v0']?.S === 'done' ? DONE : CLAIMED;
  };
  return Object.assign(client, { send });
}

const bytesOf = (answer: object): Uint8Array => Buffer.from(JSON.stringify(answer));
const ANSWERS = { claimed: bytesOf(CLAIMED), done: bytesOf(DONE), ready: bytesOf(READY), none: bytesOf({}) };

/** A real client, up to the request that would go out. */
export function wireClient(): DynamoDBClient {
  const handle = async ({ body, headers }: { body: Uint8Array; headers: Record<string, string> }) => {
    const sent = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    const isRead = headers['x-amz-target']?.endsWith('GetItem');
    const isOurs = sent.includes('"ReturnValues":"ALL_NEW"');
    const written = isOurs ? (sent.includes('"S":"done"') ? ANSWERS.done : ANSWERS.claimed) : ANSWERS.none;
    return { response: { statusCode: 200, headers: {}, body: isRead ? ANSWERS.ready : written } };
  };
  return new DynamoDBClient({
    region: 'us-east-1',
    credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' },
    requestHandler: { handle } as never,
  });
}
