/** What the command line sends to SQS and Lambda. */
import {
  LambdaClient,
  ListEventSourceMappingsCommand,
  UpdateEventSourceMappingCommand,
} from '@aws-sdk/client-lambda';
import { ReceiveMessageCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, test } from 'vitest';
import { sqsDeadLetters } from '#cli/aws/dead-letters.ts';
import { lambdaFeeds } from '#cli/aws/feeds.ts';

const sqs = mockClient(SQSClient);
const lambda = mockClient(LambdaClient);
beforeEach(() => {
  sqs.reset();
  lambda.reset();
});

describe('dead letters', () => {
  const { receive, send } = sqsDeadLetters(new SQSClient({ region: 'eu-central-1' }));

  test('are read with body, attributes and group, and sent as they are', async () => {
    const bytes = new Uint8Array([1, 2]);
    sqs.on(ReceiveMessageCommand).resolves({
      Messages: [
        {
          MessageId: 'm-1',
          ReceiptHandle: 'r-1',
          Body: '{"a": 1.0}',
          Attributes: { MessageGroupId: 'key-1', SentTimestamp: '5' },
          MessageAttributes: {
            type: { DataType: 'String', StringValue: 't' },
            blob: { DataType: 'Binary.x', BinaryValue: bytes },
          },
        },
      ],
    });
    const [letter] = await receive('dlq', 30);
    expect(letter).toEqual({
      messageId: 'm-1',
      receiptHandle: 'r-1',
      body: '{"a": 1.0}',
      attributes: {
        type: { dataType: 'String', text: 't' },
        blob: { dataType: 'Binary.x', bytes },
      },
      groupId: 'key-1',
      sentAt: 5,
    });
    sqs.on(SendMessageCommand).resolves({});
    const { body = '', attributes = {}, groupId = '' } = letter ?? {};
    await send('q.fifo', { body, attributes, groupId, deduplicationId: 'd-1' });
    await send('q', { body: 'b', attributes: { replay: { dataType: 'Number', text: '2' } } });
    expect(sqs.commandCalls(SendMessageCommand).map(({ args }) => args[0].input)).toEqual([
      {
        QueueUrl: 'q.fifo',
        MessageBody: '{"a": 1.0}',
        MessageAttributes: {
          type: { DataType: 'String', StringValue: 't' },
          blob: { DataType: 'Binary.x', BinaryValue: bytes },
        },
        MessageGroupId: 'key-1',
        MessageDeduplicationId: 'd-1',
      },
      {
        QueueUrl: 'q',
        MessageBody: 'b',
        MessageAttributes: { replay: { DataType: 'Number', StringValue: '2' } },
      },
    ]);
  });
});

describe('the feed of a pool', () => {
  const feeds = lambdaFeeds();
  const mappings = [
    { UUID: 'u-1', EventSourceArn: 'arn:other', State: 'Enabled' },
    { UUID: 'u-2', EventSourceArn: 'arn:mine', State: 'Disabled' },
  ];

  test('is the mapping of its function and its queue', async () => {
    lambda.on(ListEventSourceMappingsCommand).resolves({ EventSourceMappings: mappings });
    lambda.on(UpdateEventSourceMappingCommand).resolves({});
    expect(await feeds.state('fn', 'arn:mine')).toBe('Disabled');
    await feeds.turn('fn', 'arn:mine', true);
    expect(lambda.commandCalls(ListEventSourceMappingsCommand)[0]?.args[0].input).toEqual({
      FunctionName: 'fn',
      EventSourceArn: 'arn:mine',
    });
    expect(lambda.commandCalls(UpdateEventSourceMappingCommand)[0]?.args[0].input).toEqual({
      UUID: 'u-2',
      Enabled: true,
    });
  });

  test('that is not there is said, and nothing is switched', async () => {
    lambda.on(ListEventSourceMappingsCommand).resolves({ EventSourceMappings: mappings.slice(0, 1) });
    await expect(feeds.turn('fn', 'arn:mine', false)).rejects.toMatchObject({ code: 'feed_missing' });
    expect(lambda.commandCalls(UpdateEventSourceMappingCommand)).toEqual([]);
  });
});
