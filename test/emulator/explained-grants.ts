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

const POOLS = [
  'worker-inventory',
  'worker-payment',
  'worker-shipping',
  'worker-notification',
  'worker-ledger',
];

export const EXPLAINED: readonly Explained[] = [
  {
    stage: ['dispatch', 'relay'],
    actions: ['sns:Publish'],
    reason: 'AWS takes it for PublishBatch; the local cloud takes PublishBatch as an action of its own',
    test: 'test/infra/access.test.ts',
  },
  {
    stage: 'sweep',
    actions: ['sqs:ChangeMessageVisibility'],
    reason: 'as with sns:Publish: AWS takes it for ChangeMessageVisibilityBatch',
    test: 'test/infra/access.test.ts',
  },
  {
    stage: '*',
    actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
    reason:
      "on AWS the runtime writes a function's log lines by its role; the local cloud writes them itself",
    test: 'test/infra/access.test.ts',
  },
  {
    stage: [...POOLS, 'project', 'collect', 'relay'],
    actions: ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'],
    reason:
      'on AWS the event source mapping polls by the role of its function; the local cloud polls by itself',
    test: 'test/infra/access.test.ts',
  },
  {
    stage: ['collect', 'relay'],
    actions: [
      'dynamodb:DescribeStream',
      'dynamodb:GetRecords',
      'dynamodb:GetShardIterator',
      'dynamodb:ListStreams',
    ],
    reason: 'as with queues: on AWS the mapping reads the stream by the role of its function',
    test: 'test/infra/access.test.ts',
  },
  {
    stage: ['collect', 'relay'],
    actions: ['sqs:SendMessage'],
    reason: 'only a stream record that failed is set aside; that has a test of its own',
    test: 'test/emulator/iam.test.ts',
  },
  {
    stage: 'close',
    actions: ['sqs:SendMessage'],
    reason:
      'Lambda sends an event that close could not handle to its dead-letter queue; none fails on this path',
    test: 'test/infra/access.test.ts',
  },
  {
    stage: '*',
    actions: ['s3:ListBucket'],
    reason:
      'without it S3 answers AccessDenied for an object that is not there, and a lost payload would be asked for again and again; the local cloud says NoSuchKey either way',
    test: 'test/adapters/s3-payloads.test.ts',
  },
  {
    stage: POOLS,
    actions: ['s3:PutObject'],
    reason: 'a result over 8 KB goes to the bucket; the reference tasks have none, a team may',
    test: 'test/unit/worker.test.ts',
  },
  {
    stage: ['worker-notification', 'worker-ledger'],
    actions: ['s3:GetObject'],
    reason:
      'a command over 32 KB comes by pointer; the input of these pools is always smaller, other pools show it',
    test: 'test/unit/worker.test.ts',
  },
  {
    stage: 'close',
    actions: ['s3:PutObject'],
    reason: 'an output over 8 KB goes to the bucket; the reference workflow exposes less',
    test: 'test/unit/close.test.ts',
  },
];
