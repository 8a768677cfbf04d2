/** Queues, topics, buckets and state machines for suites that run against a cloud. Nothing is cleaned up after them. */
import { CreateRoleCommand, IAMClient, PutRolePolicyCommand } from '@aws-sdk/client-iam';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { CreateStateMachineCommand } from '@aws-sdk/client-sfn';
import { CreateTopicCommand, SubscribeCommand } from '@aws-sdk/client-sns';
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { CLIENT } from '#adapters/client-config.ts';
import { s3Payloads } from '#adapters/s3-payloads.ts';
import { executionArn, sfnAnswers, sfnClient, sfnExecutions } from '#adapters/sfn.ts';
import { snsClient, snsCommands } from '#adapters/sns-publisher.ts';
import { sqsClient, sqsQueueDepth, sqsRetelling, sqsRetryQueue, sqsVisibility } from '#adapters/sqs.ts';
import { sqsDeadLetterPeek } from '#adapters/sqs-letters.ts';
import { systemIds } from '#adapters/system.ts';
import type { Item } from '#core/store.ts';
import { byImage } from '#runtime/stream.ts';
import type { PayloadsUnderTest } from '../contract/payloads.contract.ts';
import type { QueuesUnderTest } from '../contract/queues.contract.ts';
import type { RetellingUnderTest } from '../contract/retelling.contract.ts';
import type { StateMachinesUnderTest } from '../contract/state-machines.contract.ts';
import type { TopicUnderTest } from '../contract/topic.contract.ts';

let made = 0;
const freshName = (what: string): string =>
  `contract-${what}-${Date.now().toString(36)}-${process.pid}-${made++}`;

interface Queue {
  readonly url: string;
  readonly arn: string;
}

/** Lets topics deliver to any queue of this account that has it. */
const FROM_TOPICS = JSON.stringify({
  Version: '2012-10-17',
  Statement: [
    {
      Effect: 'Allow',
      Principal: { Service: 'sns.amazonaws.com' },
      Action: 'sqs:SendMessage',
      Resource: '*',
    },
  ],
});

async function createQueue(client: SQSClient, what: string, policy?: string): Promise<Queue> {
  const { QueueUrl: url = '' } = await client.send(
    new CreateQueueCommand({
      QueueName: freshName(what),
      ...(policy && { Attributes: { Policy: policy } }),
    }),
  );
  const { Attributes } = await client.send(
    new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['QueueArn'] }),
  );
  return { url, arn: Attributes?.['QueueArn'] ?? '' };
}

const receiveOne = async (client: SQSClient, queue: Queue, waitSeconds: number): Promise<Message[]> =>
  (
    await client.send(
      new ReceiveMessageCommand({
        QueueUrl: queue.url,
        MaxNumberOfMessages: 10,
        WaitTimeSeconds: waitSeconds,
        VisibilityTimeout: 60,
      }),
    )
  ).Messages ?? [];

/** Takes messages out until there are so many or none came for a second. */
async function drain(client: SQSClient, queue: Queue, count: number): Promise<string[]> {
  const bodies: string[] = [];
  while (bodies.length < count) {
    const messages = await receiveOne(client, queue, 1);
    if (messages.length === 0) break;
    for (const { Body = '', ReceiptHandle } of messages) {
      bodies.push(Body);
      await client.send(new DeleteMessageCommand({ QueueUrl: queue.url, ReceiptHandle }));
    }
  }
  return bodies;
}

export async function cloudTopic(): Promise<TopicUnderTest> {
  const [sns, sqs] = [snsClient(), sqsClient()];
  const { TopicArn: topicArn = '' } = await sns.send(new CreateTopicCommand({ Name: freshName('topic') }));
  const queue = await createQueue(sqs, 'subscriber', FROM_TOPICS);
  await sns.send(
    new SubscribeCommand({
      TopicArn: topicArn,
      Protocol: 'sqs',
      Endpoint: queue.arn,
      Attributes: {
        RawMessageDelivery: 'true',
        // As a work queue's: what lacks the attributes would not arrive.
        FilterPolicy: JSON.stringify({ type: ['inventory.stock.reserve'], tenant: ['default'] }),
      },
    }),
  );
  const { publish } = snsCommands({ client: sns, topicArn, ids: systemIds() });
  return { publish, received: (count) => drain(sqs, queue, count) };
}

export async function cloudQueues(): Promise<QueuesUnderTest> {
  const client = sqsClient();
  const work = await createQueue(client, 'work');
  const retry = await createQueue(client, 'retry');
  const dead = await createQueue(client, 'dead');
  return {
    visibility: sqsVisibility(client, work.url),
    retryQueue: sqsRetryQueue(client, retry.url),
    depth: sqsQueueDepth(client, { 'inventory.stock.reserve': work.url }),
    letters: sqsDeadLetterPeek(client, { work: dead.url }),
    bury: async (body) =>
      void (await client.send(new SendMessageCommand({ QueueUrl: dead.url, MessageBody: body }))),
    enqueue: async () =>
      void (await client.send(new SendMessageCommand({ QueueUrl: work.url, MessageBody: '{}' }))),
    receive: async () => (await receiveOne(client, work, 0))[0]?.ReceiptHandle,
    retries: () => drain(client, retry, 1),
  };
}

/** Relay's retry queue is read as relay reads it. */
export async function cloudRetelling(): Promise<RetellingUnderTest> {
  const client = sqsClient();
  const project = await createQueue(client, 'project');
  const retry = await createQueue(client, 'relay-retry');
  const pack = (after: Item): string => byImage.pack({ before: undefined, after });
  return {
    retelling: sqsRetelling(client, project.url, retry.url, pack),
    enqueue: async () =>
      void (await client.send(new SendMessageCommand({ QueueUrl: project.url, MessageBody: '{}' }))),
    receive: async () => void (await receiveOne(client, project, 0)),
    told: async () => {
      const read = (await drain(client, retry, Number.POSITIVE_INFINITY)).map((body) => byImage.unpack(body));
      return (await Promise.all(read)).map((change) => {
        if (typeof change === 'string') throw new Error(`relay cannot read it: ${change}`);
        return change.after;
      });
    },
  };
}

export async function cloudPayloads(): Promise<PayloadsUnderTest> {
  const client = new S3Client(CLIENT);
  const Bucket = freshName('payloads');
  await client.send(new CreateBucketCommand({ Bucket }));
  return {
    payloads: s3Payloads({ bucket: Bucket }),
    remove: async (Key) => void (await client.send(new DeleteObjectCommand({ Bucket, Key }))),
    damage: async (Key, Body) => void (await client.send(new PutObjectCommand({ Bucket, Key, Body }))),
    kept: async (Key) => {
      const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
      return Buffer.from((await Body?.transformToByteArray()) ?? []);
    },
  };
}

/** A role in which state machines may send to one queue. Gives its ARN. */
async function createSendingRole(queue: Queue): Promise<string> {
  const client = new IAMClient(CLIENT);
  const RoleName = freshName('states');
  const document = (...Statement: object[]): string => JSON.stringify({ Version: '2012-10-17', Statement });
  const { Role } = await client.send(
    new CreateRoleCommand({
      RoleName,
      AssumeRolePolicyDocument: document({
        Effect: 'Allow',
        Principal: { Service: 'states.amazonaws.com' },
        Action: 'sts:AssumeRole',
      }),
    }),
  );
  await client.send(
    new PutRolePolicyCommand({
      RoleName,
      PolicyName: 'send',
      PolicyDocument: document({ Effect: 'Allow', Action: 'sqs:SendMessage', Resource: queue.arn }),
    }),
  );
  return Role?.Arn ?? '';
}

/** A state machine whose one state sends its token to a queue and waits. */
export async function cloudStateMachines(): Promise<StateMachinesUnderTest> {
  const [sfn, sqs] = [sfnClient(), sqsClient()];
  const tokens = await createQueue(sqs, 'tokens');
  const definition = {
    StartAt: 'Wait',
    States: {
      Wait: {
        Type: 'Task',
        Resource: 'arn:aws:states:::sqs:sendMessage.waitForTaskToken',
        Parameters: {
          QueueUrl: tokens.url,
          MessageBody: { 'token.$': '$$.Task.Token', 'name.$': '$$.Execution.Name' },
        },
        TimeoutSeconds: 60,
        End: true,
      },
    },
  };
  const { stateMachineArn = '' } = await sfn.send(
    new CreateStateMachineCommand({
      name: freshName('machine'),
      definition: JSON.stringify(definition),
      roleArn: await createSendingRole(tokens),
    }),
  );
  const seen = new Map<string, string>();
  const executions = sfnExecutions(sfn);
  const until = async <T>(look: () => Promise<T | undefined>): Promise<T> => {
    for (let looks = 0; looks < 100; looks++) {
      const found = await look();
      if (found !== undefined) return found;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error('the execution did not get there within 5 seconds');
  };
  return {
    answers: sfnAnswers(sfn),
    executions,
    stateMachineArn,
    token: (name) =>
      until(async () => {
        for (const body of await drain(sqs, tokens, 1)) {
          const message = JSON.parse(body) as { token: string; name: string };
          seen.set(message.name, message.token);
        }
        return seen.get(name);
      }),
    settled: async (name) => {
      await until(async () => {
        const state = await executions.describe(stateMachineArn, name);
        if (state === undefined) throw new Error(`${executionArn(stateMachineArn, name)} was never started`);
        return state.status === 'RUNNING' ? undefined : state;
      });
    },
  };
}
