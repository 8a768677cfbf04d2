import { describe, expect, it } from 'vitest';
import { pools } from '#workflows/deployed.ts';
import { buildStage, type Resource, resources, templateOf } from './edow-app.ts';

const { pipeline } = buildStage('prod');
const queues = resources(pipeline, 'AWS::SQS::Queue');
const mappings = Object.values(resources(pipeline, 'AWS::Lambda::EventSourceMapping'));
const functions = resources(pipeline, 'AWS::Lambda::Function');

const idOf = (value: { 'Fn::GetAtt'?: [string, string]; Ref?: string }): string =>
  value['Fn::GetAtt']?.[0] ?? value.Ref ?? '';
const sources = Object.entries(queues).filter(([, { Properties }]) => Properties.RedrivePolicy);
const onQueues = mappings.filter(({ Properties }) => queues[idOf(Properties.EventSourceArn)]);
const onStreams = mappings.filter((mapping) => !onQueues.includes(mapping));
const deadLettersOf = ({ Properties }: Resource): Resource | undefined =>
  queues[idOf(Properties.RedrivePolicy.deadLetterTargetArn)];

const deployedPools = Object.entries(pools({ downstream: { uses: [] }, accounts: () => {} }));

describe('H26 queues and their dead letters', () => {
  it('there are 5 pools, the projector and 2 retry queues', () => {
    expect(sources).toHaveLength(deployedPools.length + 3);
    expect(onQueues).toHaveLength(sources.length);
  });

  it.each(sources)(
    '%s: dead letters of the same type, kept for 14 days and longer than the queue',
    (_, queue) => {
      const dead = deadLettersOf(queue);
      expect(dead?.Properties.MessageRetentionPeriod).toBe(1_209_600);
      expect(queue.Properties.MessageRetentionPeriod).toBe(345_600);
      expect(dead?.Properties.FifoQueue).toBe(queue.Properties.FifoQueue);
      expect(dead).toMatchObject({ DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain' });
      expect(queue.Properties.RedrivePolicy.maxReceiveCount).toBeGreaterThanOrEqual(3);
    },
  );

  it('the ordered pool alone is FIFO: copies are told within a group, on both sides, and names are left to AWS', () => {
    const fifo = Object.entries(queues).filter(([, { Properties }]) => Properties.FifoQueue);
    expect(fifo.map(([id]) => id)).toEqual([
      expect.stringMatching(/^PoolledgerWorkDeadLetters/),
      expect.stringMatching(/^PoolledgerWorkQueue/),
    ]);
    for (const [, { Properties }] of fifo) {
      expect(Properties).toMatchObject({
        DeduplicationScope: 'messageGroup',
        FifoThroughputLimit: 'perMessageGroupId',
      });
      // Ids are ours (a replay has the body of what it replays), and CloudFormation appends the ending to its names.
      expect(Properties).not.toHaveProperty('ContentBasedDeduplication');
      expect(Properties).not.toHaveProperty('QueueName');
    }
    for (const [id, { Properties }] of Object.entries(queues))
      if (!Properties.FifoQueue) expect(Properties, id).not.toHaveProperty('DeduplicationScope');
  });

  it('an ordered pool takes one message a batch, and its mapping has a cap like any other', () => {
    const [feed] = onQueues.filter(({ Properties }) =>
      idOf(Properties.EventSourceArn).startsWith('Poolledger'),
    );
    expect(feed?.Properties).toMatchObject({ BatchSize: 1, ScalingConfig: { MaximumConcurrency: 10 } });
  });

  it.each(onQueues)(
    'mapping %#: visibility is at least 6 times the time-out of its function',
    ({ Properties }) => {
      const visibility = queues[idOf(Properties.EventSourceArn)]?.Properties.VisibilityTimeout;
      const timeout = functions[idOf(Properties.FunctionName)]?.Properties.Timeout;
      expect(visibility).toBeGreaterThanOrEqual(6 * timeout);
    },
  );

  it('concurrency is capped on the mapping and never reserved on the function', () => {
    for (const { Properties } of onQueues)
      expect(Properties.ScalingConfig.MaximumConcurrency).toBeGreaterThanOrEqual(2);
    expect(Object.keys(functions)).toHaveLength(13);
    for (const { Properties } of Object.values(functions))
      expect(Properties.ReservedConcurrentExecutions).toBeUndefined();
  });

  it('a pool allows the tries of its tasks and 15 spare receives', () => {
    for (const [name, { tasks }] of deployedPools) {
      const [, queue] = sources.find(([id]) => id.startsWith(`Pool${name}`)) ?? [];
      expect(queue?.Properties.RedrivePolicy.maxReceiveCount, name).toBe(
        Math.max(...tasks.map(({ retry }) => retry.tries)) + 15,
      );
    }
  });

  it('every queue is encrypted and refuses plain http', () => {
    const policies = Object.values(resources(pipeline, 'AWS::SQS::QueuePolicy'));
    const refusing = policies.filter(({ Properties }) =>
      Properties.PolicyDocument.Statement.some(
        (statement: { Effect: string; Condition?: object }) =>
          statement.Effect === 'Deny' &&
          JSON.stringify(statement.Condition) === '{"Bool":{"aws:SecureTransport":"false"}}',
      ),
    );
    const covered = refusing.flatMap(({ Properties }) => Properties.Queues.map(idOf));
    expect(covered.sort()).toEqual(Object.keys(queues).sort());
    for (const { Properties } of Object.values(queues)) expect(Properties.SqsManagedSseEnabled).toBe(true);
  });
});

describe('H07, H28 mappings', () => {
  it('every mapping takes partial batch responses', () => {
    expect(mappings).toHaveLength(10);
    for (const { Properties } of mappings)
      expect(Properties.FunctionResponseTypes).toEqual(['ReportBatchItemFailures']);
  });

  it('stream mappings bisect, give up in bounded time and tell their dead-letter queue', () => {
    expect(onStreams).toHaveLength(2);
    for (const { Properties } of onStreams) {
      expect(Properties).toMatchObject({
        StartingPosition: 'TRIM_HORIZON',
        BisectBatchOnFunctionError: true,
        MaximumRetryAttempts: 10,
        MaximumRecordAgeInSeconds: 43_200,
      });
      const { Destination } = Properties.DestinationConfig.OnFailure;
      expect(sources.map(([, queue]) => idOf(queue.Properties.RedrivePolicy.deadLetterTargetArn))).toContain(
        idOf(Destination),
      );
    }
  });

  it('collect wakes for tasks that turn terminal only, relay for runs with an outbox too', () => {
    const patterns = onStreams.map(({ Properties }) =>
      Properties.FilterCriteria.Filters.map(({ Pattern }: { Pattern: string }) => JSON.parse(Pattern)),
    );
    const task = {
      eventName: ['MODIFY'],
      dynamodb: {
        Keys: { SK: { S: [{ prefix: 'STEP#' }] } },
        NewImage: { status: { S: ['done', 'dead'] } },
        OldImage: { status: { S: [{ 'anything-but': ['done', 'dead'] }] } },
      },
    };
    const decided = {
      eventName: ['MODIFY'],
      dynamodb: {
        Keys: { SK: { S: [{ prefix: 'STEP#' }] } },
        NewImage: { status: { S: ['done'] } },
        OldImage: { status: { S: ['dead'] } },
      },
    };
    const run = {
      eventName: ['INSERT', 'MODIFY'],
      dynamodb: {
        Keys: { SK: { S: ['RUN'] } },
        NewImage: { outbox: { M: { type: { S: [{ exists: true }] } } } },
      },
    };
    expect(patterns).toEqual([
      [task, decided],
      [task, decided, run],
    ]);
  });
});

describe('topics', () => {
  it('are encrypted (save that of alarms) and refuse plain http', () => {
    const topics = resources(pipeline, 'AWS::SNS::Topic');
    expect(Object.keys(topics)).toHaveLength(4);
    const unencrypted = Object.entries(topics).filter(([, { Properties }]) => !Properties?.KmsMasterKeyId);
    expect(unencrypted.map(([id]) => id)).toEqual([expect.stringMatching(/^AlarmsTopic/)]);
    const refusing = Object.values(resources(pipeline, 'AWS::SNS::TopicPolicy')).filter(({ Properties }) =>
      JSON.stringify(Properties.PolicyDocument).includes('"aws:SecureTransport":"false"'),
    );
    expect(refusing.flatMap(({ Properties }) => Properties.Topics.map(idOf)).sort()).toEqual(
      Object.keys(topics).sort(),
    );
  });

  it('CloudWatch alarms of this account may publish, though the topic has a policy of its own', () => {
    templateOf(pipeline).hasResourceProperties('AWS::SNS::TopicPolicy', {
      PolicyDocument: {
        Statement: [
          { Effect: 'Deny' },
          {
            Effect: 'Allow',
            Action: 'sns:Publish',
            Principal: { Service: 'cloudwatch.amazonaws.com' },
            Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
          },
        ],
      },
    });
  });

  it('each pool gets its own command types, unwrapped; the projector gets every event', () => {
    const subscriptions = Object.values(resources(pipeline, 'AWS::SNS::Subscription'));
    expect(subscriptions).toHaveLength(6);
    for (const { Properties } of subscriptions)
      expect(Properties).toMatchObject({ Protocol: 'sqs', RawMessageDelivery: true });
    expect(subscriptions.map(({ Properties }) => Properties.FilterPolicy?.type).sort()).toEqual([
      ['inventory.stock.reserve'],
      ['ledger.account.debit', 'ledger.payout.send'],
      ['notification.customer.notify'],
      ['payment.card.charge'],
      ['shipping.parcel.ship'],
      undefined,
    ]);
  });

  it('FIFO goes to FIFO: the ordered pool hangs on the ordered topic, whose ids tell copies within a group', () => {
    const fifo = Object.entries(resources(pipeline, 'AWS::SNS::Topic')).filter(
      ([, { Properties }]) => Properties?.FifoTopic,
    );
    expect(fifo).toHaveLength(1);
    const [[id, topic] = ['', undefined]] = fifo;
    expect(topic?.Properties.FifoThroughputScope).toBe('MessageGroup');
    expect(topic?.Properties).not.toHaveProperty('ContentBasedDeduplication');
    const onIt = Object.values(resources(pipeline, 'AWS::SNS::Subscription')).map(({ Properties }) => [
      idOf(Properties.TopicArn) === id,
      queues[idOf(Properties.Endpoint)]?.Properties.FifoQueue === true,
    ]);
    expect(onIt.filter(([ordered]) => ordered)).toHaveLength(1);
    for (const [topicIsFifo, queueIsFifo] of onIt) expect(topicIsFifo).toBe(queueIsFifo);
  });
});
