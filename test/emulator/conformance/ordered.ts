/** What ordered pools and transactional tasks need: FIFO topics and queues, and transactions that give their reasons. */
import { TransactionCanceledException, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import { PublishBatchCommand } from '@aws-sdk/client-sns';
import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  type Message,
  SendMessageCommand,
} from '@aws-sdk/client-sqs';
import { until } from '#test/cloud/until.ts';
import type { Bench, MadeQueue } from './bench.ts';
import { type Check, every, same } from './checks.ts';

/** As our constructs set it. */
const FIFO = {
  FifoQueue: 'true',
  DeduplicationScope: 'messageGroup',
  FifoThroughputLimit: 'perMessageGroupId',
};
const KEY = 'key-1';

const groupOf = ({ Attributes }: Message) => Attributes?.MessageGroupId;
const bodiesOf = (messages: readonly Message[]) => messages.map(({ Body }) => Body);

const publish = async (bench: Bench, TopicArn: string, id: string, type = 'wanted'): Promise<number> => {
  const { Failed = [] } = await bench.system.sns.send(
    new PublishBatchCommand({
      TopicArn,
      PublishBatchRequestEntries: [
        {
          Id: '0',
          Message: id,
          MessageGroupId: KEY,
          MessageDeduplicationId: id,
          MessageAttributes: { type: { DataType: 'String', StringValue: type } },
        },
      ],
    }),
  );
  return Failed.length;
};

const send = (bench: Bench, to: MadeQueue, body: string, deduplicationId = body) =>
  bench.system.sqs.send(
    new SendMessageCommand({
      QueueUrl: to.url,
      MessageBody: body,
      MessageGroupId: KEY,
      MessageDeduplicationId: deduplicationId,
    }),
  );

const remove = (bench: Bench, { url }: MadeQueue, { ReceiptHandle }: Message) =>
  bench.system.sqs.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle }));

/** Takes all that comes within two looks, in order. */
async function drained(bench: Bench, from: MadeQueue): Promise<Message[]> {
  const taken: Message[] = [];
  for (let empty = 0; empty < 2; ) {
    const batch = await bench.receive(from, 1);
    if (batch.length === 0) empty += 1;
    for (const message of batch) await remove(bench, from, message);
    taken.push(...batch);
  }
  return taken;
}

export const ordered: readonly Check[] = [
  {
    id: 'sns.fifo-to-fifo',
    need: 'a FIFO topic delivers to a FIFO queue by filter: raw, in order, with its group, copies of one id once',
    look: async (bench) => {
      const inbox = await bench.queue('ordered', FIFO);
      const TopicArn = await bench.topic('ordered', { FifoTopic: 'true' });
      await bench.subscribed(TopicArn, inbox, { type: ['wanted'] });
      const failed = [
        await publish(bench, TopicArn, 'a'),
        await publish(bench, TopicArn, 'other', 'unwanted'),
        await publish(bench, TopicArn, 'b'),
        await publish(bench, TopicArn, 'a'),
        await publish(bench, TopicArn, 'c'),
      ];
      const taken = await drained(bench, inbox);
      return every(
        same(failed, [0, 0, 0, 0, 0]),
        same(bodiesOf(taken), ['a', 'b', 'c']),
        same(taken.map(groupOf), [KEY, KEY, KEY]),
      );
    },
  },
  {
    id: 'sqs.fifo-group-waits',
    need: 'while a message of a group is hidden, nothing behind it is handed out; another group is',
    look: async (bench) => {
      const work = await bench.queue('ordered', FIFO);
      await send(bench, work, 'a');
      const [first] = await bench.receive(work, 5);
      await send(bench, work, 'b');
      const behind = await bench.receive(work, 1);
      if (first) await remove(bench, work, first);
      return every(
        same([first?.Body, behind.length], ['a', 0]),
        same(bodiesOf(await bench.receive(work, 5)), ['b']),
      );
    },
  },
  {
    id: 'sqs.fifo-dead-letters',
    need: 'dead letters of a FIFO queue keep group and order, and go back under another deduplication id at once',
    look: async (bench) => {
      const dead = await bench.queue('ordered-dead', FIFO);
      const work = await bench.queue('ordered', {
        ...FIFO,
        RedrivePolicy: JSON.stringify({ deadLetterTargetArn: dead.arn, maxReceiveCount: 1 }),
      });
      for (const body of ['a', 'b']) await send(bench, work, body);
      const letters = await until('both letters', async () => {
        for (const { ReceiptHandle } of await bench.receive(work, 0))
          await bench.system.sqs.send(
            new ChangeMessageVisibilityCommand({ QueueUrl: work.url, ReceiptHandle, VisibilityTimeout: 0 }),
          );
        const found = await bench.receive(dead, 0, 0);
        return found.length === 2 ? found : undefined;
      });
      await send(bench, work, 'a', 'a, replayed');
      return every(
        same(bodiesOf(letters), ['a', 'b']),
        same(letters.map(groupOf), [KEY, KEY]),
        same(bodiesOf(await bench.receive(work, 5)), ['a']),
      );
    },
  },
  {
    id: 'dynamodb.transaction-reasons',
    need: 'a cancelled transaction writes nothing and gives the reason of each write, with the item that refused it',
    look: async (bench) => {
      const { name: TableName } = await bench.table('transaction');
      const write = (SK: string, condition?: string) => ({
        Put: {
          TableName,
          Item: { PK: { S: 'P' }, SK: { S: SK } },
          ...(condition && {
            ConditionExpression: condition,
            ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
          }),
        },
      });
      const transact = (...TransactItems: ReturnType<typeof write>[]) =>
        bench.system.dynamo.send(new TransactWriteItemsCommand({ TransactItems })).then(
          () => 'written',
          (error: unknown) =>
            error instanceof TransactionCanceledException
              ? error.CancellationReasons?.map(({ Code, Item }) => [Code, Item?.['SK']?.S])
              : error,
        );
      return every(
        same(await transact(write('A')), 'written'),
        same(await transact(write('B'), write('A', 'attribute_not_exists(PK)')), [
          ['None', undefined],
          ['ConditionalCheckFailed', 'A'],
        ]),
        same(await transact(write('B', 'attribute_not_exists(PK)')), 'written'),
      );
    },
  },
];
