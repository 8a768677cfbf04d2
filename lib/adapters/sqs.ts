/** What functions ask of queues beside what their event source does for them. */
import { randomUUID } from 'node:crypto';
import {
  ChangeMessageVisibilityCommand,
  GetQueueAttributesCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type { Commands, QueueDepth, Retelling, RetryQueue, Visibility } from '#core/ports.ts';
import type { Item } from '#core/store.ts';
import { call } from './call.ts';
import { CLIENT } from './client-config.ts';
import { straightCommands } from './straight-commands.ts';

/** Queue URLs are names only: the endpoint is the configured one, whatever host the URL shows. */
export const sqsClient = (): SQSClient => new SQSClient({ ...CLIENT, useQueueUrlAsEndpoint: false });

/** The message is back in its queue, or gone: there is nothing left to hide. */
const NOT_HELD = new Set(['MessageNotInflight', 'ReceiptHandleIsInvalid']);

export const sqsVisibility = (client: SQSClient, queueUrl: string): Visibility => ({
  change: async (receiptHandle, seconds) => {
    const command = new ChangeMessageVisibilityCommand({
      QueueUrl: queueUrl,
      ReceiptHandle: receiptHandle,
      VisibilityTimeout: seconds,
    });
    await call<unknown>(
      'ChangeMessageVisibility',
      (options) => client.send(command, options),
      (name) => (NOT_HELD.has(name) ? 'not held' : undefined),
    );
  },
});

export const sqsRetryQueue = (client: SQSClient, queueUrl: string): RetryQueue => ({
  send: async (record) => {
    const command = new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: record });
    await call('SendMessage', (options) => client.send(command, options));
  },
});

/** @param queues command type -> URL of its work queue */
export const sqsQueueDepth = (client: SQSClient, queues: Readonly<Record<string, string>>): QueueDepth => ({
  waiting: async (commandType) => {
    if (!Object.hasOwn(queues, commandType)) return undefined;
    const command = new GetQueueAttributesCommand({
      QueueUrl: queues[commandType],
      AttributeNames: ['ApproximateNumberOfMessages'],
    });
    const { Attributes } = await call('GetQueueAttributes', (options) => client.send(command, options));
    return Number(Attributes?.['ApproximateNumberOfMessages'] ?? 0);
  },
});

/**
 * @param projectQueue URL of the queue that the projector reads
 * @param relayRetries URL of relay's retry queue
 * @param pack as relay sets a record aside
 */
export const sqsRetelling = (
  client: SQSClient,
  projectQueue: string,
  relayRetries: string,
  pack: (image: Item) => string,
): Retelling => {
  const { send } = sqsRetryQueue(client, relayRetries);
  const depth = sqsQueueDepth(client, { project: projectQueue });
  return { waiting: async () => (await depth.waiting('project')) ?? 0, tell: (image) => send(pack(image)) };
};

/** @param queues command type -> URL of its work queue */
export const sqsCommands = (client: SQSClient, queues: Readonly<Record<string, string>>): Commands =>
  straightCommands({
    queueOf: (type) => (Object.hasOwn(queues, type) ? queues[type] : undefined),
    // A copy on purpose: it must not be taken for the first one. The claim tells copies apart.
    deduplicationIdOf: () => randomUUID(),
    send: (queueUrl, { body, attributes, groupId, deduplicationId }) => {
      const text = (value: string) => ({ DataType: 'String', StringValue: value });
      const command = new SendMessageCommand({
        QueueUrl: queueUrl,
        MessageBody: body,
        MessageGroupId: groupId,
        MessageDeduplicationId: deduplicationId,
        MessageAttributes: { type: text(attributes.type), tenant: text(attributes.tenant) },
      });
      return call('SendMessage', (options) => client.send(command, options));
    },
  });
