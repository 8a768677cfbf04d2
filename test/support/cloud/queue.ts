/** Queues as an operator sees them: how much lies there, what the dead letters say, and a copy sent back. */
import { randomUUID } from 'node:crypto';
import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageCommand,
} from '@aws-sdk/client-sqs';
import { REPLAY_ATTRIBUTE } from '#runtime/worker-pool.ts';
import type { Deployed } from './deployed.ts';
import { type Bounds, until } from './until.ts';

export interface Depth {
  /** Ready to be received. */
  readonly waiting: number;
  /** In the hands of a receiver. */
  readonly held: number;
}

export function queue({ sqs }: Pick<Deployed, 'sqs'>, QueueUrl: string) {
  async function attributes(): Promise<Record<string, string>> {
    const { Attributes = {} } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }),
    );
    return Attributes as Record<string, string>;
  }

  async function depth(): Promise<Depth> {
    const all = await attributes();
    return {
      waiting: Number(all['ApproximateNumberOfMessages']),
      held:
        Number(all['ApproximateNumberOfMessagesNotVisible']) +
        Number(all['ApproximateNumberOfMessagesDelayed']),
    };
  }

  /** Messages in it, whether somebody holds them or not. */
  async function total(): Promise<number> {
    const { waiting, held } = await depth();
    return waiting + held;
  }

  /** Waits until nothing waits here and nothing is held. */
  const empty = (bounds?: Bounds): Promise<true> =>
    until(`queue ${QueueUrl} is empty`, async () => ((await total()) === 0 ? true : undefined), bounds);

  /** Messages that it holds now; all others that were received with them are shown again at once. */
  async function find(wanted: (message: Message) => boolean): Promise<Message[]> {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({
        QueueUrl,
        MaxNumberOfMessages: 10,
        VisibilityTimeout: 30,
        MessageAttributeNames: ['All'],
        MessageSystemAttributeNames: ['All'],
      }),
    );
    const found = Messages.filter(wanted);
    for (const { ReceiptHandle } of Messages.filter((message) => !found.includes(message)))
      await sqs.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout: 0 }));
    return found;
  }

  /** Waits for a message and holds it: delete it, or it comes back after 30 s. */
  const received = (wanted: (message: Message) => boolean, bounds?: Bounds): Promise<Message> =>
    until(`a message in ${QueueUrl}`, async () => (await find(wanted))[0], bounds);

  const remove = ({ ReceiptHandle }: Message) =>
    sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));

  /**
   * Sends a body; `replay` marks the copy as our own tool does, and without it it is what AWS's move task leaves: a
   * new id and a new send time.
   * @param group of a FIFO queue
   */
  async function send(body: string, replay?: number, group?: string): Promise<string> {
    const { MessageId = '' } = await sqs.send(
      new SendMessageCommand({
        QueueUrl,
        MessageBody: body,
        ...(group !== undefined && { MessageGroupId: group, MessageDeduplicationId: randomUUID() }),
        ...(replay !== undefined && {
          MessageAttributes: { [REPLAY_ATTRIBUTE]: { DataType: 'String', StringValue: String(replay) } },
        }),
      }),
    );
    return MessageId;
  }

  return { attributes, depth, total, empty, find, received, remove, send };
}
