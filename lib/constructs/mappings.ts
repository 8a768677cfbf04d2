/** How functions are fed: by a queue or by a table's stream, always with partial batch responses. */
import {
  Duration,
  type aws_dynamodb as dynamodb,
  aws_lambda as lambda,
  type aws_sqs as sqs,
} from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { allow } from './access.ts';
import type { DeadLetteredQueue } from './dead-lettered-queue.ts';

/** Lambda hands a message out again when its function ran out of time: time for the poller's own retries. */
const VISIBILITY_FACTOR = 6;

/** The least visibility time-out of a queue that a function with this time-out reads. */
export const visibilityFor = (timeout: Duration): Duration =>
  Duration.seconds(VISIBILITY_FACTOR * timeout.toSeconds());

export interface ConsumeOptions {
  /** Default 10. */
  readonly batchSize?: number;
  /** Batches at the same time, 2 to 1,000: the cap is set here, never by reserved concurrency, which would burn receives. */
  readonly maxConcurrency: number;
}

/** Feeds a function from a queue. `id` names the mapping. */
export function consume(
  scope: Construct,
  id: string,
  source: DeadLetteredQueue,
  fn: lambda.Function,
  options: ConsumeOptions,
): lambda.EventSourceMapping {
  allow(fn, 'sqs', ['ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes'], [source.queue.queueArn]);
  const mapping = new lambda.EventSourceMapping(scope, id, {
    target: fn,
    eventSourceArn: source.queue.queueArn,
    batchSize: options.batchSize ?? 10,
    maxConcurrency: options.maxConcurrency,
    reportBatchItemFailures: true,
  });
  mapping.node.addValidation({
    validate: () => {
      const timeout = fn.timeout ?? Duration.seconds(3);
      const least = visibilityFor(timeout).toSeconds();
      const visibility = source.visibilityTimeout.toSeconds();
      return visibility >= least
        ? []
        : [
            `the queue's visibility time-out is ${visibility} s, below ${VISIBILITY_FACTOR} times the function's time-out of ${timeout.toSeconds()} s: messages would be handed out twice. Set it to ${least} s or more, or shorten the function's time-out`,
          ];
    },
  });
  return mapping;
}

export interface FollowOptions {
  /** Patterns on stream records; a record passes when one of them matches. */
  readonly filters: readonly object[];
  /** Where Lambda tells of records that it gave up. */
  readonly onFailure: sqs.IQueue;
}

/** Records of a batch; failures are set aside by the function itself, so that batches may be large. */
const STREAM_BATCH = 100;
/** The function sets failing records aside; only when that fails too does Lambda try again, this often. */
const STREAM_RETRIES = 10;

/** Feeds a function from a table's stream, from its oldest record on: nothing is lost while a deploy creates the mapping. */
export function follow(
  scope: Construct,
  id: string,
  table: dynamodb.Table,
  fn: lambda.Function,
  options: FollowOptions,
): lambda.EventSourceMapping {
  const streamArn = table.tableStreamArn;
  if (streamArn === undefined)
    throw new Error(`${scope.node.path}: the table has no stream; set "stream" on it`);
  allow(fn, 'dynamodb', ['DescribeStream', 'GetRecords', 'GetShardIterator', 'ListStreams'], [streamArn]);
  return new lambda.EventSourceMapping(scope, id, {
    target: fn,
    eventSourceArn: streamArn,
    startingPosition: lambda.StartingPosition.TRIM_HORIZON,
    batchSize: STREAM_BATCH,
    bisectBatchOnError: true,
    retryAttempts: STREAM_RETRIES,
    maxRecordAge: Duration.hours(12),
    reportBatchItemFailures: true,
    filters: options.filters.map((filter) => lambda.FilterCriteria.filter({ ...filter })),
    onFailure: {
      bind: (_mapping, target) => {
        allow(target as lambda.Function, 'sqs', ['SendMessage'], [options.onFailure.queueArn]);
        return { destination: options.onFailure.queueArn };
      },
    },
  });
}
