/**
 * The function behind the checks of event sources and task tokens: reports what it was called with to a queue, and
 * answers as its messages ask. A message or item with `fail` is reported as failed; a payload with `throw` throws.
 */
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';

const sqs = new SQSClient({ useQueueUrlAsEndpoint: false });
const QueueUrl = process.env['REPORT_QUEUE'];

interface Event {
  readonly Records?: readonly {
    readonly messageId?: string;
    readonly body?: string;
    readonly dynamodb?: { readonly SequenceNumber?: string; readonly NewImage?: { readonly fail?: unknown } };
  }[];
  readonly throw?: boolean;
  readonly other?: string;
}

export async function handler(event: Event): Promise<unknown> {
  await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: JSON.stringify(event) }));
  if (event.throw) throw new Error('as asked');
  if (event.other) {
    const sent = sqs.send(new SendMessageCommand({ QueueUrl: event.other, MessageBody: '{}' }));
    return sent.then(
      () => 'sent',
      (error: Error) => error.name,
    );
  }
  const failed = (event.Records ?? []).filter(
    ({ body, dynamodb }) => body?.includes('"fail"') || dynamodb?.NewImage?.fail !== undefined,
  );
  return {
    batchItemFailures: failed.map(({ messageId, dynamodb }) => ({
      itemIdentifier: messageId ?? dynamodb?.SequenceNumber,
    })),
  };
}
