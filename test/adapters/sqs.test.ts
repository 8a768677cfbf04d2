import {
  ChangeMessageVisibilityCommand,
  GetQueueAttributesCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, expect, test } from 'vitest';
import { sqsClient, sqsQueueDepth, sqsRetryQueue, sqsVisibility } from '#adapters/sqs.ts';
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
  await expect(sqsRetryQueue(client, QUEUE).send({ PK: 'a', SK: 'b' })).rejects.toThrow(PortUnavailable);
});

test('a retry is the key as JSON, nothing else of the item', async () => {
  mock.on(SendMessageCommand).resolves({});
  const item = { PK: 'RUN#1', SK: 'STEP#A', token: 'secret' };
  await sqsRetryQueue(client, QUEUE).send(item);
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
