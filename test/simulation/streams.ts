/** The stream of the table's changes and the functions that follow it, each with its retry queue. */
import type { DynamoDBRecord } from 'aws-lambda';
import { toAttributes } from '#adapters/attribute-value.ts';
import type { Item } from '#core/store.ts';
import type { Actor, Actors } from './actors.ts';
import type { Books } from './books.ts';
import type { Clockwork } from './clockwork.ts';
import type { Faults } from './faults.ts';
import type { Plan } from './plan.ts';
import { type Queue, queueOf, unfinishedOf } from './queues.ts';
import type { Random } from './random.ts';
import type { RetriesFor, Stages } from './stages.ts';
import type { Change, Tables } from './tables.ts';

export interface StreamParts {
  readonly plan: Plan;
  readonly clockwork: Clockwork;
  readonly faults: Faults;
  readonly actors: Actors;
  readonly random: Random;
  readonly tables: Tables;
  readonly books: Books;
  readonly stages: Stages;
}

/** Of the mappings: records of a batch, tries of one, and receives of a retry queue. */
const STREAM_BATCH = 5;
const STREAM_RETRIES = 10;
const RETRY_RECEIVES = 10;
const VISIBILITY_MS = 60_000;
const DELAY_MS = [20, 400] as const;
const LATE_MS = [10_000, 240_000] as const;

const TERMINAL = ['done', 'dead'];
const statusOf = (item: Change['after'] | undefined): string => String(item?.['status']);

/** As the filters of the mappings: a step that turns terminal; for relay also a run with something to tell. */
const turnsTerminal = ({ before, after }: Change): boolean =>
  after.SK.startsWith('STEP#') &&
  before !== undefined &&
  TERMINAL.includes(statusOf(after)) &&
  (!TERMINAL.includes(statusOf(before)) || (statusOf(before) === 'dead' && statusOf(after) === 'done'));
const hasOutbox = ({ after }: Change): boolean => after.SK === 'RUN' && after['outbox'] !== undefined;

interface Waiting {
  readonly record: DynamoDBRecord;
  readonly change: Change;
  tries: number;
}

export function streamsOf(parts: StreamParts): readonly [collect: Queue, relay: Queue] {
  const { plan, clockwork, faults, actors, random, tables, books, stages } = parts;
  let sequence = 0;
  // Two followers read each change, and what an item was is what the change before it made of it.
  const images = new WeakMap<Item, ReturnType<typeof toAttributes>>();
  function imageOf(item: Item) {
    const image = images.get(item) ?? toAttributes(item);
    images.set(item, image);
    return image as never;
  }

  function follower(name: 'collect' | 'relay', passes: (change: Change) => boolean): Queue {
    const invoke = stages[name];
    const shards = new Map<string, Waiting[]>();
    const busy = new Set<string>();
    const retry: Queue = queueOf(parts, {
      name: `${name}-retry`,
      visibilityMs: VISIBILITY_MS,
      maxReceiveCount: RETRY_RECEIVES,
      batchSize: 10,
      maxConcurrency: 2,
      faulty: true,
      consumer: (batch, done) => {
        const Records = batch.map(({ message, receiptHandle }) => ({
          messageId: message.id,
          receiptHandle,
          body: message.body,
        }));
        invoke({ Records } as unknown as Parameters<typeof invoke>[0], retriesFor, (how) =>
          done(unfinishedOf(how)),
        );
      },
    });
    const retriesFor: RetriesFor = (actor: Actor) => ({
      send: (record) =>
        actors.call(actor, 'set aside', () => void retry.send({ body: record, origin: 'topic' }), {
          refused: ['retry queue down'],
        }),
    });

    function enqueue(change: Change): void {
      // The local cloud loses what a batch reports; here without the reason.
      if (plan.cloud === 'local' && faults.strikes('stream record lost')) {
        if (name === 'relay') books.lost(change.after);
        return;
      }
      sequence += 1;
      const record: DynamoDBRecord = {
        eventName: change.before ? 'MODIFY' : 'INSERT',
        dynamodb: {
          SequenceNumber: String(sequence),
          NewImage: imageOf(change.after),
          ...(change.before && { OldImage: imageOf(change.before) }),
        },
      };
      const shard = shards.get(change.after.PK) ?? [];
      shards.set(change.after.PK, shard);
      shard.push({ record, change, tries: 0 });
      if (faults.strikes('stream record doubled')) shard.push({ record, change, tries: 0 });
      const delay = faults.strikes('stream late') ? random.between(...LATE_MS) : random.between(...DELAY_MS);
      clockwork.at(clockwork.now() + delay, () => next(change.after.PK));
    }

    function next(pk: string): void {
      const shard = shards.get(pk);
      if (busy.has(pk) || shard === undefined || shard.length === 0) return;
      busy.add(pk);
      const batch = shard.slice(0, STREAM_BATCH);
      invoke({ Records: batch.map(({ record }) => record) }, retriesFor, (how) => {
        busy.delete(pk);
        const done = typeof how === 'object' && 'value' in how ? how.value : undefined;
        const failed = done?.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
        finish(shard, batch, failed);
        clockwork.at(clockwork.now() + random.between(...DELAY_MS), () => next(pk));
      });
    }

    /** @param reported records that were handed back; undefined where the call itself failed */
    function finish(
      shard: Waiting[],
      batch: readonly Waiting[],
      reported: readonly string[] | undefined,
    ): void {
      const isReported = ({ record }: Waiting): boolean =>
        reported?.includes(record.dynamodb?.SequenceNumber ?? '') ?? true;
      const failedAt = batch.findIndex(isReported);
      if (failedAt === -1 || (reported !== undefined && plan.cloud === 'local')) {
        for (const { change } of batch.filter(isReported)) if (name === 'relay') books.lost(change.after);
        shard.splice(0, batch.length);
        return;
      }
      shard.splice(0, failedAt);
      const first = shard[0];
      if (first === undefined) return;
      first.tries += 1;
      if (first.tries > STREAM_RETRIES) shard.shift();
    }

    tables.onChange((change) => {
      if (passes(change)) enqueue(change);
    });
    return retry;
  }

  return [
    follower('collect', turnsTerminal),
    follower('relay', (change) => turnsTerminal(change) || hasOutbox(change)),
  ];
}
