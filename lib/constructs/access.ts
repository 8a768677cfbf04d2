/**
 * What a function may do with one resource, together with the environment variable that names it. Both are set in
 * ONE call, so that they cannot drift: a function that knows of a table can use it, and only as listed.
 */
import {
  type aws_dynamodb as dynamodb,
  aws_iam as iam,
  type aws_lambda as lambda,
  type aws_s3 as s3,
  type aws_sns as sns,
  type aws_sqs as sqs,
} from 'aws-cdk-lib';
import { ENV } from '#core/env-names.ts';
import type { Stage } from './stage.ts';

export type Access = (fn: lambda.Function) => void;

type TableAction = 'ConditionCheckItem' | 'GetItem' | 'PutItem' | 'UpdateItem' | 'DeleteItem' | 'Query';
type QueueAction =
  | 'SendMessage'
  | 'ReceiveMessage'
  | 'DeleteMessage'
  | 'ChangeMessageVisibility'
  | 'GetQueueAttributes';

/** Allows actions of one service; every grant of a function goes through here. */
export function allow(
  fn: lambda.Function,
  service: string,
  actions: readonly string[],
  resourceArns: string[],
): void {
  iam.Grant.addToPrincipal({
    grantee: fn,
    actions: actions.map((action) => `${service}:${action}`),
    resourceArns,
  });
}

/** Items of a table, by the actions named and no others. Indexes are granted for Query alone, one by one. */
export const onTable =
  (
    variable: string,
    table: dynamodb.Table,
    actions: readonly TableAction[],
    indexes: readonly string[] = [],
  ): Access =>
  (fn) => {
    allow(fn, 'dynamodb', actions, [table.tableArn]);
    if (indexes.length > 0)
      allow(
        fn,
        'dynamodb',
        ['Query'],
        indexes.map((index) => `${table.tableArn}/index/${index}`),
      );
    fn.addEnvironment(variable, table.tableName);
  };

/** Prefix of every object that our functions write. */
export const PAYLOAD_PREFIX = 'payloads/';

/**
 * Payloads too large for an item. Objects outside {@link PAYLOAD_PREFIX} stay out of reach. Who reads may list, too:
 * else S3 says "access denied" for an object that is gone, and it would be asked for again and again.
 */
export const onPayloads =
  (bucket: s3.Bucket, actions: readonly ('GetObject' | 'PutObject')[]): Access =>
  (fn) => {
    allow(fn, 's3', actions, [bucket.arnForObjects(`${PAYLOAD_PREFIX}*`)]);
    if (actions.includes('GetObject')) allow(fn, 's3', ['ListBucket'], [bucket.bucketArn]);
    fn.addEnvironment(ENV.payloadBucket, bucket.bucketName);
  };

export const publishesTo =
  (variable: string, topic: sns.ITopic, stage: Stage): Access =>
  (fn) => {
    allow(fn, 'sns', stage.publishActions, [topic.topicArn]);
    fn.addEnvironment(variable, topic.topicArn);
  };

export const onQueue =
  (variable: string, queue: sqs.IQueue, actions: readonly QueueAction[]): Access =>
  (fn) => {
    allow(fn, 'sqs', actions, [queue.queueArn]);
    fn.addEnvironment(variable, queue.queueUrl);
  };
