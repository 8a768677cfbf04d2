/** Records of the table's stream, and the functions that follow it, in memory. */
import type { DynamoDBRecord } from 'aws-lambda';
import { toAttributes } from '#adapters/attribute-value.ts';
import { systemClock } from '#adapters/system.ts';
import { collector } from '#core/collect.ts';
import type { Envelope } from '#core/envelope.ts';
import { asStep } from '#core/items.ts';
import { wireText } from '#core/json-text.ts';
import type { Events, RetryQueue } from '#core/ports.ts';
import { relayer } from '#core/relay.ts';
import type { Item } from '#core/store.ts';
import { chain } from '#runtime/chain.ts';
import { projectFeed } from '#runtime/project-feed.ts';
import { byImage, byKey, streamHandler } from '#runtime/stream.ts';
import { eachChange, tenTogether } from '#runtime/stream-work.ts';
import { DEPLOYED } from './examples.ts';
import { memoryAnswers, memoryExecutions } from './memory/state-machines.ts';
import { memoryStore } from './memory/store.ts';
import { memoryViews } from './memory/views.ts';
import { lambdaContext, type QueueHandler, sqsRecord } from './pool-fixtures.ts';

type Images = NonNullable<NonNullable<DynamoDBRecord['dynamodb']>['NewImage']>;
const imageOf = (item: Item) => toAttributes(item) as unknown as Images;

/** One change as DynamoDB tells it. @param sequence of the record */
export function streamRecord(before: Item | undefined, after: Item, sequence: string): DynamoDBRecord {
  return {
    eventID: `event-${sequence}`,
    eventName: before === undefined ? 'INSERT' : 'MODIFY',
    eventSource: 'aws:dynamodb',
    eventVersion: '1.1',
    awsRegion: 'eu-west-1',
    dynamodb: {
      ApproximateCreationDateTime: Math.floor(Date.now() / 1000),
      Keys: imageOf({ PK: after.PK, SK: after.SK }),
      ...(before && { OldImage: imageOf(before) }),
      NewImage: imageOf(after),
      SequenceNumber: sequence,
      SizeBytes: 0,
      StreamViewType: 'NEW_AND_OLD_IMAGES',
    },
    eventSourceARN: 'arn:aws:dynamodb:eu-west-1:000000000000:table/state/stream/1',
  };
}

/** A retry queue that can be told to take nothing. */
export function retryQueue(): RetryQueue & { readonly records: string[]; fails: boolean } {
  const queue = {
    records: [] as string[],
    fails: false,
    send: async (record: string) => {
      if (queue.fails) throw new Error('the queue is not there');
      queue.records.push(record);
    },
  };
  return queue;
}

/** Hands stream records over; gives the sequence numbers that were reported. `remainingMs`: until Lambda ends it. */
const streamEntry = (handler: unknown) => async (records: readonly unknown[], remainingMs?: number) => {
  const entry = handler as QueueHandler;
  const { batchItemFailures } = await entry({ Records: records } as never, lambdaContext(remainingMs));
  return batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
};

/** Hands over what was set aside, each message in a batch of its own; gives what was reported. */
const againEntry = (handler: unknown) => async (queue: { readonly records: string[] }) => {
  const entry = handler as QueueHandler;
  const left: string[] = [];
  for (const body of queue.records.splice(0)) {
    const { batchItemFailures } = await entry({ Records: [sqsRecord(body)] }, lambdaContext());
    if (batchItemFailures.length > 0) left.push(body);
  }
  return left;
};

/** collect on memory. */
export function collectOn(ports = { store: memoryStore(), answers: memoryAnswers() }) {
  const retries = retryQueue();
  const executions = memoryExecutions();
  const workflows = new Map([['order', DEPLOYED]]);
  const { collect } = collector({ ...ports, executions, clock: systemClock, workflows });
  const work = eachChange(({ after }, log) => collect(asStep(after), log));
  const handler = chain('collect', streamHandler({ aside: byKey(ports.store), retries }, work));
  return { ...ports, executions, retries, stream: streamEntry(handler), again: againEntry(handler) };
}

/** relay on memory. */
export function relayOn(events: Events) {
  const retries = retryQueue();
  const { relay } = relayer(events);
  const handler = chain('relay', streamHandler({ aside: byImage, retries }, tenTogether(relay)));
  return { retries, stream: streamEntry(handler), again: againEntry(handler) };
}

/** project on memory. */
export function projectOn(views = memoryViews()) {
  const handler = chain('project', projectFeed(views)) as unknown as QueueHandler;
  return {
    views,
    handler,
    feed: async (...events: readonly Envelope[]) =>
      handler({ Records: events.map((event) => sqsRecord(wireText(event))) }, lambdaContext()),
  };
}
