/** The store on a DynamoDB table with the key (PK, SK). */
import {
  type AttributeValue,
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  type QueryCommandInput,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import type { Item, Key, Put, Store, Update, WriteResult } from '#core/store.ts';
import { assertKeyKept, storedItem } from '#core/store-rules.ts';
import { OPEN_INDEX, TABLE_KEY } from '#core/tables.ts';
import { toAttributes, toItem } from './attribute-value.ts';
import { answerIn, type CallOptions, call, optionsOf } from './call.ts';
import { type Expressed, transact } from './dynamo-transaction.ts';
import { expressionShapes } from './expression-shapes.ts';

type Attributes = Record<string, AttributeValue>;

const keyOf = ({ PK, SK }: Key): Attributes => ({ PK: { S: PK }, SK: { S: SK } });

/** A refused condition is an answer: it carries the item that it was refused for. */
const refusal = (_name: string, error: unknown): WriteResult | undefined =>
  error instanceof ConditionalCheckFailedException
    ? { written: false, item: error.Item && toItem(error.Item) }
    : undefined;

/** Shared by all stores of a process: shapes do not depend on the table. */
const expressionsOf = expressionShapes();

/**
 * The item is converted when it is read, which after a commit nobody does. A class: an object that has a getter of its
 * own is made far more slowly.
 */
class Written {
  readonly written = true;
  private readonly key: Key;
  private readonly attributes: Attributes | undefined;
  private converted: Item | undefined;

  constructor(key: Key, attributes: Attributes | undefined) {
    this.key = key;
    this.attributes = attributes;
    this.converted = undefined;
  }

  get item(): Item {
    // An update that changes nothing answers without attributes: the item is its key at least.
    this.converted ??= this.attributes ? toItem(this.attributes) : { PK: this.key.PK, SK: this.key.SK };
    return this.converted;
  }
}

/** An update in DynamoDB's words. */
function expressed(table: string, { key, when, changes }: Update) {
  assertKeyKept(key, changes);
  return { ...expressionsOf(when, changes), TableName: table, Key: keyOf(key) };
}

/** Made apart from the call: what awaits is compiled late, and every task passes here twice. */
const updateOf = (table: string, update: Update): UpdateItemCommand =>
  new UpdateItemCommand({ ...expressed(table, update), ReturnValues: 'ALL_NEW' });

/** Reads pages until `enough` items are there or none are left. */
async function queryAll(
  client: DynamoDBClient,
  query: QueryCommandInput,
  enough = Number.POSITIVE_INFINITY,
): Promise<Attributes[]> {
  const found: Attributes[] = [];
  let from: Attributes | undefined;
  do {
    const command = new QueryCommand({ ...query, ...(from && { ExclusiveStartKey: from }) });
    const page = await call('Query', (options) => client.send(command, options));
    found.push(...(page.Items ?? []));
    from = page.LastEvaluatedKey;
  } while (from && found.length < enough);
  return found.slice(0, enough);
}

/**
 * Each write is one request; none is read before it is written.
 * @param table name of the table; `openRuns` needs its index `open`
 */
export const dynamoStore = (client: DynamoDBClient, table: string): Store => ({
  async get(key: Key): Promise<Item | undefined> {
    const command = new GetItemCommand({ TableName: table, Key: keyOf(key), ConsistentRead: true });
    const { Item: found } = await call('GetItem', (options) => client.send(command, options));
    return found && toItem(found);
  },

  async update(update: Update): Promise<WriteResult> {
    const command = updateOf(table, update);
    const options = optionsOf('UpdateItem');
    // Every task passes here twice: no more promises than one.
    try {
      const { Attributes } = await client.send(command, options);
      return new Written(update.key, Attributes);
    } catch (error) {
      return answerIn('UpdateItem', error, refusal);
    }
  },

  async put({ item, when }: Put): Promise<WriteResult> {
    const command = new PutItemCommand({
      ...expressionsOf(when),
      TableName: table,
      Item: toAttributes(item),
    });
    const write = async (options: CallOptions): Promise<WriteResult> => {
      await client.send(command, options);
      return { written: true, item: storedItem(item) };
    };
    return call('PutItem', write, refusal);
  },

  transact: (updates, others = []) =>
    transact(client, (update) => expressed(table, update) as ReturnType<Expressed>, updates, others),

  async partition(pk: string): Promise<Item[]> {
    const found = await queryAll(client, {
      TableName: table,
      KeyConditionExpression: '#pk = :pk',
      ExpressionAttributeNames: { '#pk': TABLE_KEY.partition },
      ExpressionAttributeValues: { ':pk': { S: pk } },
      ConsistentRead: true,
    });
    return found.map(toItem);
  },

  async openRuns(shard: string, until: number, limit: number): Promise<Key[]> {
    const found = await queryAll(
      client,
      {
        TableName: table,
        IndexName: OPEN_INDEX.name,
        KeyConditionExpression: '#shard = :shard AND #at <= :until',
        ExpressionAttributeNames: { '#shard': OPEN_INDEX.partition, '#at': OPEN_INDEX.sort },
        ExpressionAttributeValues: { ':shard': { S: shard }, ':until': { N: String(until) } },
        Limit: limit,
      },
      limit,
    );
    return found.map(toItem).map(({ PK, SK }) => ({ PK, SK }));
  },
});
