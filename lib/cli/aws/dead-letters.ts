/** Dead-letter queues on SQS. */
import {
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  type Message,
  type MessageAttributeValue,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { LETTERS_PER_CALL, releasesOf } from '#adapters/sqs-letters.ts';
import type { DeadLetter, DeadLetters, MessageAttribute, QueueDepths } from '../ports.ts';
import { OPERATOR_CLIENT } from './calls.ts';

/** Long polling asks every server of the queue: without it, an empty answer would not mean an empty queue. Seconds. */
const WAIT_SECONDS = 1;

/** Queue URLs are names only: the endpoint is the configured one, whatever host the URL shows. */
export const operatorSqs = (): SQSClient =>
  new SQSClient({ ...OPERATOR_CLIENT, useQueueUrlAsEndpoint: false });

const read = ({ DataType, StringValue, BinaryValue }: MessageAttributeValue): MessageAttribute => ({
  dataType: DataType ?? 'String',
  ...(StringValue !== undefined && { text: StringValue }),
  ...(BinaryValue !== undefined && { bytes: BinaryValue }),
});

const written = ({ dataType, text, bytes }: MessageAttribute): MessageAttributeValue => ({
  DataType: dataType,
  ...(text !== undefined && { StringValue: text }),
  ...(bytes !== undefined && { BinaryValue: bytes }),
});

function letterOf(message: Message): DeadLetter {
  const groupId = message.Attributes?.MessageGroupId;
  return {
    messageId: message.MessageId ?? '',
    receiptHandle: message.ReceiptHandle ?? '',
    body: message.Body ?? '',
    attributes: Object.fromEntries(
      Object.entries(message.MessageAttributes ?? {}).map(([name, value]) => [name, read(value)]),
    ),
    ...(groupId !== undefined && { groupId }),
    sentAt: Number(message.Attributes?.SentTimestamp ?? 0),
  };
}

export function sqsDeadLetters(client: SQSClient): DeadLetters {
  return {
    async receive(dlqUrl, hiddenSeconds) {
      const { Messages = [] } = await client.send(
        new ReceiveMessageCommand({
          QueueUrl: dlqUrl,
          MaxNumberOfMessages: LETTERS_PER_CALL,
          VisibilityTimeout: hiddenSeconds,
          WaitTimeSeconds: WAIT_SECONDS,
          MessageSystemAttributeNames: ['All'],
          MessageAttributeNames: ['All'],
        }),
      );
      return Messages.map(letterOf);
    },

    hidden: async (dlqUrl) => (await sqsDepths(client)(dlqUrl)).inFlight,

    async release(dlqUrl, letters) {
      for (const command of releasesOf(dlqUrl, letters)) await client.send(command);
    },

    async send(queueUrl, { body, attributes, groupId, deduplicationId }) {
      await client.send(
        new SendMessageCommand({
          QueueUrl: queueUrl,
          MessageBody: body,
          MessageAttributes: Object.fromEntries(
            Object.entries(attributes).map(([name, value]) => [name, written(value)]),
          ),
          ...(deduplicationId !== undefined && { MessageDeduplicationId: deduplicationId }),
          ...(groupId !== undefined && { MessageGroupId: groupId }),
        }),
      );
    },

    async remove(dlqUrl, { receiptHandle }) {
      await client.send(new DeleteMessageCommand({ QueueUrl: dlqUrl, ReceiptHandle: receiptHandle }));
    },
  };
}

export const sqsDepths =
  (client: SQSClient): QueueDepths =>
  async (queueUrl) => {
    const { Attributes } = await client.send(
      new GetQueueAttributesCommand({
        QueueUrl: queueUrl,
        AttributeNames: ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'],
      }),
    );
    return {
      waiting: Number(Attributes?.['ApproximateNumberOfMessages'] ?? 0),
      inFlight: Number(Attributes?.['ApproximateNumberOfMessagesNotVisible'] ?? 0),
    };
  };
