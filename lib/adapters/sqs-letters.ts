/** Dead-letter queues, looked into. */
import {
  ChangeMessageVisibilityBatchCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import type { DeadLetterPeek, PeekedLetter } from '#core/ports.ts';
import { call } from './call.ts';

/** SQS: the most messages of one call. */
export const LETTERS_PER_CALL = 10;
/** Long enough for the writes about a pool's letters; a look that is cut short hides nothing for longer. Seconds. */
const HIDDEN_SECONDS = 20;

const letterOf = ({ MessageId, ReceiptHandle, Body, Attributes }: Message): PeekedLetter => ({
  messageId: MessageId ?? '',
  receiptHandle: ReceiptHandle ?? '',
  body: Body ?? '',
  sentAt: Number(Attributes?.SentTimestamp ?? 0),
});

/** The calls that show letters again at once. What could not be released comes back when its visibility ends. */
export const releasesOf = (
  queueUrl: string | undefined,
  letters: readonly { readonly receiptHandle: string }[],
): readonly ChangeMessageVisibilityBatchCommand[] =>
  Array.from({ length: Math.ceil(letters.length / LETTERS_PER_CALL) }, (_, turn) => {
    const batch = letters.slice(turn * LETTERS_PER_CALL, (turn + 1) * LETTERS_PER_CALL);
    return new ChangeMessageVisibilityBatchCommand({
      QueueUrl: queueUrl,
      Entries: batch.map(({ receiptHandle }, index) => ({
        Id: String(index),
        ReceiptHandle: receiptHandle,
        VisibilityTimeout: 0,
      })),
    });
  });

/** @param queues pool -> URL of its dead-letter queue */
export const sqsDeadLetterPeek = (
  client: SQSClient,
  queues: Readonly<Record<string, string>>,
): DeadLetterPeek => ({
  pools: Object.keys(queues),

  async peek(pool, limit) {
    const letters = new Map<string, PeekedLetter>();
    for (;;) {
      // A short poll: an empty answer may miss a letter, and the next look is a minute away.
      const command = new ReceiveMessageCommand({
        QueueUrl: queues[pool],
        MaxNumberOfMessages: LETTERS_PER_CALL,
        VisibilityTimeout: HIDDEN_SECONDS,
        MessageSystemAttributeNames: ['SentTimestamp'],
      });
      const { Messages = [] } = await call('ReceiveMessage', (options) => client.send(command, options));
      const before = letters.size;
      for (const message of Messages) letters.set(message.MessageId ?? '', letterOf(message));
      if (letters.size === before || letters.size >= limit) return [...letters.values()];
    }
  },

  async release(pool, letters) {
    for (const command of releasesOf(queues[pool], letters))
      await call('ChangeMessageVisibilityBatch', (options) => client.send(command, options));
  },
});
