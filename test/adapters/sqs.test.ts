import {
  ChangeMessageVisibilityCommand,
  GetQueueAttributesCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, describe, expect, test } from 'vitest';
import { sqsClient, sqsCommands, sqsQueueDepth, sqsRetryQueue, sqsVisibility } from '#adapters/sqs.ts';
import { commandOf } from '#core/envelope.ts';
import { EdowError, PortUnavailable } from '#core/errors.ts';

const mock = mockClient(SQSClient);
afterEach(() => mock.reset());
const client = new SQSClient({});
const QUEUE = 'https://sqs.eu-west-1.amazonaws.com/111122223333/work';

const refusal = (name: string): Error =>
  Object.assign(new Error('x'), { name, $fault: 'client', $metadata: { httpStatusCode: 400 } });

test('visibility of one message', async () => {
  mock.on(ChangeMessageVisibilityCommand).resolves({});
  await sqsVisibility(client, QUEUE).change('receipt', 17);
  expect(mock.call(0).args[0].input).toEqual({
    QueueUrl: QUEUE,
    ReceiptHandle: 'receipt',
    VisibilityTimeout: 17,
  });
});

test.each(['MessageNotInflight', 'ReceiptHandleIsInvalid'])('%s: there is nothing to hide', async (name) => {
  mock.on(ChangeMessageVisibilityCommand).rejects(refusal(name));
  await expect(sqsVisibility(client, QUEUE).change('receipt', 0)).resolves.toBeUndefined();
});

test('other refusals and throttling are told', async () => {
  mock.on(ChangeMessageVisibilityCommand).rejects(refusal('InvalidParameterValue'));
  await expect(sqsVisibility(client, QUEUE).change('receipt', 99_999)).rejects.toThrow(EdowError);
  mock.on(SendMessageCommand).rejects(refusal('RequestThrottled'));
  await expect(sqsRetryQueue(client, QUEUE).send('{}')).rejects.toThrow(PortUnavailable);
});

test('a retry is the record as it was packed', async () => {
  mock.on(SendMessageCommand).resolves({});
  await sqsRetryQueue(client, QUEUE).send('{"PK":"RUN#1","SK":"STEP#A"}');
  expect(mock.call(0).args[0].input).toEqual({
    QueueUrl: QUEUE,
    MessageBody: '{"PK":"RUN#1","SK":"STEP#A"}',
  });
});

test('depth of the queue of a command type', async () => {
  mock.on(GetQueueAttributesCommand).resolves({ Attributes: { ApproximateNumberOfMessages: '12' } });
  const depth = sqsQueueDepth(client, { 'inventory.stock.reserve': QUEUE });
  expect(await depth.waiting('inventory.stock.reserve')).toBe(12);
  expect(await depth.waiting('payment.card.charge')).toBeUndefined();
  expect(await depth.waiting('constructor')).toBeUndefined();
  expect(mock.calls()).toHaveLength(1);
});

test('the client goes to its own endpoint, whatever host the queue URL shows', async () => {
  expect(sqsClient().config.useQueueUrlAsEndpoint).toBe(false);
});

describe('commands straight to their queues', () => {
  const command = (stepKey: string, type = 'inventory.stock.reserve') =>
    commandOf({
      taskId: `01RUN/${stepKey}/0`,
      workflow: 'order',
      runId: '01RUN',
      stepKey,
      contract: { type, version: 1, tries: 3 },
      tenant: 'acme',
      correlationId: 'c',
      traceparent: '00-0-0-01',
      execution: 10_000,
      entry: 0,
      enteredAt: 0,
      deadline: 1_000,
      data: {},
    });
  const commands = sqsCommands(client, { 'inventory.stock.reserve': QUEUE });

  test('look like those that the topic delivers raw', async () => {
    mock.on(SendMessageCommand).resolves({});
    expect(await commands.publish([command('Reserve')])).toEqual([]);
    expect(mock.call(0).args[0].input).toEqual({
      QueueUrl: QUEUE,
      MessageBody: JSON.stringify(command('Reserve')),
      MessageGroupId: 'acme',
      MessageAttributes: {
        type: { DataType: 'String', StringValue: 'inventory.stock.reserve' },
        tenant: { DataType: 'String', StringValue: 'acme' },
      },
    });
  });

  test('of an ordered pool keep their group, and are no duplicates of the one that came by the topic', async () => {
    mock.on(SendMessageCommand).resolves({});
    const ordered = { ...command('Reserve'), partitionkey: 'key-1' };
    expect(await commands.publish([ordered, ordered])).toEqual([]);
    const [first, second] = mock.commandCalls(SendMessageCommand).map(({ args }) => args[0].input);
    expect(first).toMatchObject({ MessageGroupId: 'key-1', MessageBody: JSON.stringify(ordered) });
    expect(first?.MessageDeduplicationId).toMatch(/^[\w-]{36}$/);
    expect(second?.MessageDeduplicationId).not.toBe(first?.MessageDeduplicationId);
  });

  test('without a queue, or while it is throttled, are told; the others are sent', async () => {
    mock.on(SendMessageCommand).rejectsOnce(refusal('RequestThrottled')).resolves({});
    const nowhere = command('Charge', 'payment.card.charge');
    const left = await commands.publish([command('A'), nowhere, command('B')]);
    expect(left).toEqual(['01RUN/A/0', '01RUN/Charge/0']);
    expect(mock.calls()).toHaveLength(2);
  });

  test('that may not be sent at all are a refusal', async () => {
    mock.on(SendMessageCommand).rejects(refusal('AccessDenied'));
    await expect(commands.publish([command('A')])).rejects.toThrow('SendMessage was refused: AccessDenied');
  });
});
