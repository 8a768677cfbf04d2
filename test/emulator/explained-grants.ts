/**
 * Grants without which the whole path goes through on the local cloud, and why they stay all the same. Each names the
 * test that holds the reason; a grant that is here and turns out to be needed, or is gone, is reported.
 */
export interface Explained {
  /** Functions that have it; `*`: all. */
  readonly stage: string | readonly string[];
  readonly actions: readonly string[];
  readonly reason: string;
  /** File of the test that holds it. */
  readonly test: string;
}

export const EXPLAINED: readonly Explained[] = [
  {
    stage: '*',
    actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
    reason:
      "on AWS the runtime writes a function's log lines by its role; the local cloud writes them itself",
    test: 'test/infra/access.test.ts',
  },
  {
    stage: '*',
    actions: ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'],
    reason:
      'on AWS the event source mapping polls by the role of its function; the local cloud polls by itself',
    test: 'test/infra/access.test.ts',
  },
  {
    stage: '*',
    actions: [
      'dynamodb:DescribeStream',
      'dynamodb:GetRecords',
      'dynamodb:GetShardIterator',
      'dynamodb:ListStreams',
    ],
    reason: 'as with queues: on AWS the mapping reads the stream by the role of its function',
    test: 'test/infra/access.test.ts',
  },
];
