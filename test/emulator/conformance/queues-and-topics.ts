import { PublishBatchCommand } from '@aws-sdk/client-sns';
import {
  ChangeMessageVisibilityCommand,
  type Message,
  SendMessageCommand,
  StartMessageMoveTaskCommand,
} from '@aws-sdk/client-sqs';
import { until } from '#test/cloud/until.ts';
import type { Bench, MadeQueue } from './bench.ts';
import { type Check, every, same } from './checks.ts';

const MAX_RECEIVES = 3;

/** A message that was received as often as its queue allows, now among the dead letters. */
async function deadLetter(
  bench: Bench,
): Promise<{ work: MadeQueue; dead: MadeQueue; sent: string; letter: Message }> {
  const dead = await bench.queue('dead');
  const work = await bench.queue('work', {
    RedrivePolicy: JSON.stringify({ deadLetterTargetArn: dead.arn, maxReceiveCount: MAX_RECEIVES }),
  });
  const { MessageId: sent = '' } = await bench.system.sqs.send(
    new SendMessageCommand({
      QueueUrl: work.url,
      MessageBody: 'body',
      MessageAttributes: { type: { DataType: 'String', StringValue: 'a.b.c' } },
    }),
  );
  for (let received = 0; received < MAX_RECEIVES; received += 1) {
    const [message] = await bench.receive(work, 5);
    await bench.system.sqs.send(
      new ChangeMessageVisibilityCommand({
        QueueUrl: work.url,
        ReceiptHandle: message?.ReceiptHandle,
        VisibilityTimeout: 0,
      }),
    );
  }
  const letter = await until('the dead letter', async () => {
    await bench.receive(work, 0, 0); // SQS moves it when it would be received once more
    return (await bench.receive(dead, 0))[0];
  });
  return { work, dead, sent, letter };
}

/** Publishes to a topic with one filtered, raw subscriber and returns what it got. */
async function published(bench: Bench): Promise<{ message: Message; refused: number }> {
  const inbox = await bench.queue('inbox');
  const TopicArn = await bench.topic('topic');
  await bench.subscribed(TopicArn, inbox, { type: ['wanted'] });
  const entry = (Id: string, type: string) => ({
    Id,
    Message: `{"is":"${type}"}`,
    MessageGroupId: 'tenant-1',
    MessageAttributes: { type: { DataType: 'String', StringValue: type } },
  });
  const { Failed = [] } = await bench.system.sns.send(
    new PublishBatchCommand({
      TopicArn,
      PublishBatchRequestEntries: [entry('0', 'other'), entry('1', 'wanted')],
    }),
  );
  const message = await until('what was published', async () => (await bench.receive(inbox, 2))[0]);
  return { message, refused: Failed.length };
}

export const queuesAndTopics: readonly Check[] = [
  {
    id: 'sqs.redrive',
    need: `a message moves to the dead-letter queue after ${MAX_RECEIVES} receives, as it was: id, body, attributes`,
    look: async (bench) => {
      const { sent, letter } = await deadLetter(bench);
      const { MessageId, Body, MessageAttributes } = letter;
      return same([MessageId, Body, MessageAttributes?.['type']?.StringValue], [sent, 'body', 'a.b.c']);
    },
  },
  {
    id: 'sqs.dead-letter-source',
    need: 'a dead letter names the queue that it came from: "redrive to source" needs it',
    look: async (bench) => {
      const { work, letter } = await deadLetter(bench);
      return same(letter.Attributes?.['DeadLetterQueueSourceArn'], work.arn);
    },
  },
  {
    id: 'sqs.move-task',
    need: "AWS's own redrive (the console's button) brings a dead letter back to its source",
    look: async (bench) => {
      const { work, dead, letter } = await deadLetter(bench);
      await bench.system.sqs.send(
        new ChangeMessageVisibilityCommand({
          QueueUrl: dead.url,
          ReceiptHandle: letter.ReceiptHandle,
          VisibilityTimeout: 0,
        }),
      );
      await bench.system.sqs.send(new StartMessageMoveTaskCommand({ SourceArn: dead.arn }));
      const back = await until('the message is back', async () => (await bench.receive(work, 2))[0]);
      return same(back.Body, 'body');
    },
  },
  {
    id: 'sqs.visibility-0',
    need: 'a message whose visibility is set to 0 comes back within two seconds, its receives counted',
    look: async (bench) => {
      const work = await bench.queue('visibility');
      await bench.system.sqs.send(new SendMessageCommand({ QueueUrl: work.url, MessageBody: 'x' }));
      const [first] = await bench.receive(work, 5);
      await bench.system.sqs.send(
        new ChangeMessageVisibilityCommand({
          QueueUrl: work.url,
          ReceiptHandle: first?.ReceiptHandle,
          VisibilityTimeout: 0,
        }),
      );
      const [again] = await bench.receive(work, 2);
      return same(again?.Attributes?.['ApproximateReceiveCount'], '2');
    },
  },
  {
    id: 'sqs.visibility-n',
    need: 'a message whose visibility is set to n seconds stays hidden for so long',
    look: async (bench) => {
      const work = await bench.queue('visibility');
      await bench.system.sqs.send(new SendMessageCommand({ QueueUrl: work.url, MessageBody: 'x' }));
      const [first] = await bench.receive(work, 5);
      const at = Date.now();
      await bench.system.sqs.send(
        new ChangeMessageVisibilityCommand({
          QueueUrl: work.url,
          ReceiptHandle: first?.ReceiptHandle,
          VisibilityTimeout: 2,
        }),
      );
      const early = await bench.receive(work, 0);
      await until('it comes back', async () => (await bench.receive(work, 1))[0]);
      return every(
        same(early.length, 0),
        Date.now() - at >= 1_500 ? 'works' : { differs: 'it came back too early' },
      );
    },
  },
  {
    id: 'sns.filter-policy',
    need: 'a subscriber gets the messages whose attribute its filter names, and no others',
    look: async (bench) => same((await published(bench)).message.Body, '{"is":"wanted"}'),
  },
  {
    id: 'sns.raw-delivery',
    need: 'raw delivery: the body is the message, and its attributes are the queue message’s own',
    look: async (bench) =>
      same((await published(bench)).message.MessageAttributes?.['type']?.StringValue, 'wanted'),
  },
  {
    id: 'sns.fair-group',
    need: 'the message group reaches a standard queue: one tenant’s backlog does not hold up the others',
    look: async (bench) => same((await published(bench)).message.Attributes?.['MessageGroupId'], 'tenant-1'),
  },
  {
    id: 'sns.size-limit',
    need: 'a message over 256 KiB is refused when it is published, not lost afterwards',
    look: async (bench) => {
      const TopicArn = await bench.topic('large');
      const send = bench.system.sns.send(
        new PublishBatchCommand({
          TopicArn,
          PublishBatchRequestEntries: [{ Id: '0', Message: 'x'.repeat(1_100_000) }],
        }),
      );
      return send.then(
        ({ Failed = [] }) => (Failed.length === 1 ? 'works' : { differs: 'it was taken' }),
        () => 'works',
      );
    },
  },
];
