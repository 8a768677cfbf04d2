/** Records of the table's stream, and the same items once more from the retry queue. */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent, SQSEvent } from 'aws-lambda';
import { toItem } from '#adapters/attribute-value.ts';
import { errorFields } from '#core/errors.ts';
import type { Log, RetryQueue } from '#core/ports.ts';
import type { Item, Key, Store } from '#core/store.ts';
import { batch } from './batch.ts';
import type { StageContext } from './chain.ts';

/** One change of an item. */
export interface Change {
  readonly before: Item | undefined;
  readonly after: Item;
}

export interface StreamPorts {
  readonly store: Store;
  readonly retries: RetryQueue;
}

/** Handles changes; returns those that must be tried again. An error means all of them. */
type Work = (changes: readonly Change[], log: Log) => Promise<readonly Change[]>;

/** Records handled at the same time: answers stay well under the account's 500 a second. */
const LANES = 10;

/** Handles each change alone, a few at a time; an error sets only its own change aside. */
export function eachChange(one: (change: Change, log: Log) => Promise<void>): Work {
  return async (changes, log) => {
    const waiting = [...changes];
    const left: Change[] = [];
    const lane = async (): Promise<void> => {
      for (let change = waiting.shift(); change !== undefined; change = waiting.shift()) {
        try {
          await one(change, log);
        } catch (error) {
          log.error('record failed', errorFields(error));
          left.push(change);
        }
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    return left;
  };
}

/** Waits between tries outside the stream, seconds: the queue's receive count bounds them. */
const RETRY_SECONDS = 5;

/**
 * The entry point of a stream function: the stream and its own retry queue call the same handler. What fails in the
 * stream is set aside by its key, so that the shard moves on; only if that fails too is the record reported.
 */
export function streamHandler(ports: StreamPorts, work: Work) {
  const fromQueue = batch(async (record, log) => {
    const key = readKey(record.body);
    if (key === undefined) {
      log.error('message is no key of an item');
      return { ack: false, seconds: 0 };
    }
    const item = await ports.store.get(key);
    if (item === undefined) return { ack: true };
    const left = await work([{ before: undefined, after: item }], log);
    return left.length === 0 ? { ack: true } : { ack: false, seconds: RETRY_SECONDS };
  });

  return async (event: DynamoDBStreamEvent | SQSEvent, context: StageContext) => {
    const records = event?.Records ?? [];
    if (isQueue(records)) return fromQueue({ Records: records }, context);
    return fromStream(records as DynamoDBRecord[], ports, work, context.log);
  };
}

const isQueue = (records: readonly object[]): records is SQSEvent['Records'] =>
  records.some((record) => 'receiptHandle' in record);

async function fromStream(
  records: readonly DynamoDBRecord[],
  ports: StreamPorts,
  work: Work,
  log: Log,
): Promise<DynamoDBBatchResponse> {
  const changes = records.flatMap((record) => changeOf(record, log));
  if (changes.length === 0) return { batchItemFailures: [] };
  let left: readonly Change[] = changes.map(({ change }) => change);
  try {
    left = await work(left, log);
  } catch (error) {
    log.error('records failed unexpectedly', errorFields(error));
  }
  const failed: DynamoDBBatchResponse['batchItemFailures'] = [];
  for (const change of left) {
    const sequence = changes.find((known) => known.change === change)?.sequence ?? '';
    if (!(await setAside(ports.retries, change.after, log))) failed.push({ itemIdentifier: sequence });
  }
  return { batchItemFailures: failed };
}

function changeOf(record: DynamoDBRecord, log: Log): { change: Change; sequence: string }[] {
  const { NewImage, OldImage, SequenceNumber } = record.dynamodb ?? {};
  if (NewImage === undefined) {
    log.warn('record without an image', { event: record.eventName });
    return [];
  }
  const image = (attributes: typeof NewImage) => toItem(attributes as Record<string, AttributeValue>);
  return [
    {
      change: { before: OldImage && image(OldImage), after: image(NewImage) },
      sequence: SequenceNumber ?? '',
    },
  ];
}

async function setAside(retries: RetryQueue, { PK, SK }: Key, log: Log): Promise<boolean> {
  try {
    await retries.send({ PK, SK });
    log.warn('record was set aside', { item: `${PK} ${SK}` });
    return true;
  } catch (error) {
    log.error('record could not be set aside', errorFields(error));
    return false;
  }
}

function readKey(body: string): Key | undefined {
  try {
    const { PK, SK } = JSON.parse(body) as Partial<Key>;
    return typeof PK === 'string' && typeof SK === 'string' ? { PK, SK } : undefined;
  } catch {
    return undefined;
  }
}
