/** Records of the table's stream, and the same items once more from the retry queue. */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent, SQSEvent } from 'aws-lambda';
import { toAttributes, toItem } from '#adapters/attribute-value.ts';
import { errorFields } from '#core/errors.ts';
import { lanes } from '#core/lanes.ts';
import type { Log, RetryQueue } from '#core/ports.ts';
import type { Key, Store } from '#core/store.ts';
import { batch } from './batch.ts';
import type { StageContext } from './chain.ts';
import { inTime, RECORD_MS, within } from './in-time.ts';
import { type Change, LANES, type Work } from './stream-work.ts';

/** How a change is set aside, as text of a message, and read back. */
export interface Aside {
  pack(change: Change): string;
  /** `gone`: there is nothing to do any more. `unreadable`: no message of ours. */
  unpack(body: string): Promise<Change | 'gone' | 'unreadable'>;
}

export interface StreamPorts {
  readonly retries: RetryQueue;
  readonly aside: Aside;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

const isKey = (value: unknown): value is Key =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Partial<Key>).PK === 'string' &&
  typeof (value as Partial<Key>).SK === 'string';

/** By its key: the second try sees the item as it is by then. For work that wants the present state. */
export const byKey = (store: Store): Aside => ({
  pack: ({ after: { PK, SK } }) => JSON.stringify({ PK, SK }),
  unpack: async (body) => {
    const key = parsed(body);
    if (!isKey(key)) return 'unreadable';
    const after = await store.get({ PK: key.PK, SK: key.SK });
    return after === undefined ? 'gone' : { before: undefined, after };
  },
});

/** By its image: the second try tells what was true then. By its key, an event would be lost to the next change. */
export const byImage: Aside = {
  pack: ({ after }) => JSON.stringify(toAttributes(after)),
  unpack: async (body) => {
    const image = parsed(body);
    try {
      const after = toItem(image as Record<string, AttributeValue>);
      return isKey(after) ? { before: undefined, after } : 'unreadable';
    } catch {
      return 'unreadable';
    }
  },
};

/**
 * The entry point of a stream function: the stream and its own retry queue call the same handler. What fails in the
 * stream is set aside, so that the shard moves on; only if that fails too is the record reported.
 */
export function streamHandler(ports: StreamPorts, work: Work) {
  const fromQueue = batch((record, log) =>
    inTime(async () => {
      const change = await ports.aside.unpack(record.body);
      if (change === 'gone') return { ack: true };
      if (change === 'unreadable') {
        log.error('message is no change of an item');
        return { ack: false };
      }
      const left = await work([change], log, () => true);
      return left.length === 0 ? { ack: true } : { ack: false };
    }),
  );

  return async (event: DynamoDBStreamEvent | SQSEvent, context: StageContext) => {
    const records = Array.isArray(event?.Records) ? event.Records : [];
    if (isQueue(records)) return fromQueue({ Records: records }, context);
    return fromStream(records as DynamoDBRecord[], ports, work, context);
  };
}

const isQueue = (records: readonly object[]): records is SQSEvent['Records'] =>
  records.some((record) => record instanceof Object && 'receiptHandle' in record);

/** A record as far as it can be used: `keys` and `sequence` say where it belongs when there is no change to handle. */
interface Seen {
  readonly change?: Change;
  readonly keys?: Key;
  readonly sequence?: string;
}

/** Time for the answer: what cannot be set aside before that is reported. Milliseconds. */
const ANSWER_MS = 500;
/** With less than this left no record is begun any more: what hangs then can still be set aside. Milliseconds. */
const WORK_BEGINS_MS = RECORD_MS + 4000;

async function fromStream(
  records: readonly DynamoDBRecord[],
  ports: StreamPorts,
  work: Work,
  { log, deadlineAt }: StageContext,
): Promise<DynamoDBBatchResponse> {
  const remainingMs = (): number => deadlineAt - Date.now();
  const seen = records
    .filter((record) => record?.eventName !== 'REMOVE')
    .map((record) => seenOf(record, log));
  const changes = seen.flatMap(({ change }) => (change === undefined ? [] : [change]));
  let left: readonly Change[] = changes;
  try {
    if (changes.length > 0) left = await work(changes, log, () => remainingMs() > WORK_BEGINS_MS);
  } catch (error) {
    log.error('records failed unexpectedly', errorFields(error));
  }
  const failed: DynamoDBBatchResponse['batchItemFailures'] = [];
  const unfinished = seen.filter(({ change }) => change === undefined || left.includes(change));
  await lanes(unfinished, LANES, async ({ change, keys, sequence }) => {
    if (await setAside(ports, change, keys, remainingMs() - ANSWER_MS, log)) return;
    if (sequence !== undefined) failed.push({ itemIdentifier: sequence });
    else log.error('record without keys and number: nothing can be done for it');
  });
  return { batchItemFailures: failed };
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

function seenOf(record: DynamoDBRecord, log: Log): Seen {
  const { NewImage, OldImage, Keys, SequenceNumber } = record?.dynamodb ?? {};
  const [PK, SK] = [textOf(Keys?.['PK']?.S), textOf(Keys?.['SK']?.S)];
  const sequence = textOf(SequenceNumber);
  const where: Seen = {
    ...(sequence !== undefined && { sequence }),
    ...(PK !== undefined && SK !== undefined && { keys: { PK, SK } }),
  };
  const image = (attributes: typeof NewImage) => toItem(attributes as Record<string, AttributeValue>);
  try {
    const after = NewImage && image(NewImage);
    if (isKey(after)) return { ...where, change: { before: OldImage && image(OldImage), after } };
  } catch (error) {
    log.error('record with an image that is none of ours', errorFields(error));
    return where;
  }
  log.error('record without an image', { event: textOf(record?.eventName) });
  return where;
}

/**
 * All the time that is left may pass: a record that is reported holds up its shard. Without a change, a record is set
 * aside by its keys: collect reads the item by them, and relay leaves them to the dead-letter queue, as nobody knows any
 * more what was to be told.
 */
async function setAside(
  { retries, aside }: StreamPorts,
  change: Change | undefined,
  keys: Key | undefined,
  milliseconds: number,
  log: Log,
): Promise<boolean> {
  const item = change?.after ?? keys;
  if (item === undefined || milliseconds <= 0) return false;
  try {
    await within(milliseconds, () => retries.send(change ? aside.pack(change) : JSON.stringify(keys)));
    log.warn('record was set aside', { item: `${item.PK} ${item.SK}` });
    return true;
  } catch (error) {
    log.error('record could not be set aside', errorFields(error));
    return false;
  }
}
