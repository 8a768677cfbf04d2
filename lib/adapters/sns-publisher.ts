/** Commands and events on their SNS topics: batched, retried within bounds, never over the limits. */
import { setTimeout as pause } from 'node:timers/promises';
import { PublishBatchCommand, SNSClient } from '@aws-sdk/client-sns';
import type { Command, Envelope } from '#core/envelope.ts';
import { type EdowError, PortUnavailable } from '#core/errors.ts';
import { wireText } from '#core/json-text.ts';
import type { Commands, Events, Ids } from '#core/ports.ts';
import { call } from './call.ts';
import { CLIENT } from './client-config.ts';
import { batches, type Sized } from './message-batches.ts';

export const snsClient = (): SNSClient => new SNSClient(CLIENT);

/** Rounds after the first one: with waits of at most 100 and 200 ms they outlast a short throttle, no outage. */
const MORE_ROUNDS = 2;
const FIRST_WAIT_MS = 100;

interface Message extends Sized {
  readonly id: string;
  readonly body: string;
  readonly attributes: Readonly<Record<'type' | 'tenant', string>>;
}

/** SNS counts names, data types and values of attributes. The group id is counted too: better one byte less. */
const ATTRIBUTE_TYPE = 'String';
const sizeOf = (body: string, attributes: Message['attributes']): number =>
  Object.entries(attributes)
    .flatMap(([name, value]) => [name, ATTRIBUTE_TYPE, value])
    .concat(body, attributes.tenant)
    .reduce((bytes, text) => bytes + Buffer.byteLength(text), 0);

function messageOf(envelope: Envelope): Message {
  const body = wireText(envelope);
  const attributes = { type: envelope.type, tenant: envelope.tenant };
  return { id: envelope.id, body, attributes, bytes: sizeOf(body, attributes) };
}

/** What became of one batch: what is worth another try, what the topic will never take, and why it said so. */
interface Outcome {
  readonly again: readonly Message[];
  readonly refused: readonly Message[];
  readonly refusal?: EdowError;
}

async function sendBatch(client: SNSClient, topicArn: string, batch: readonly Message[]): Promise<Outcome> {
  const command = new PublishBatchCommand({
    TopicArn: topicArn,
    PublishBatchRequestEntries: batch.map(({ body, attributes }, index) => ({
      Id: String(index),
      Message: body,
      // Fair queues: one tenant's backlog does not hold up the others.
      MessageGroupId: attributes.tenant,
      MessageAttributes: Object.fromEntries(
        Object.entries(attributes).map(([name, value]) => [
          name,
          { DataType: ATTRIBUTE_TYPE, StringValue: value },
        ]),
      ),
    })),
  });
  try {
    const { Failed = [] } = await call('PublishBatch', (options) => client.send(command, options));
    const failed = (senderFault: boolean) =>
      Failed.filter((entry) => (entry.SenderFault ?? false) === senderFault).flatMap(
        ({ Id }) => batch[Number(Id)] ?? [],
      );
    return { again: failed(false), refused: failed(true) };
  } catch (error) {
    if (error instanceof PortUnavailable) return { again: batch, refused: [] };
    return { again: [], refused: batch, refusal: error as EdowError };
  }
}

export interface PublisherParts {
  readonly client: SNSClient;
  readonly topicArn: string;
  /** Spreads the waits between rounds. */
  readonly ids: Pick<Ids, 'random'>;
  /** Waits; for tests. */
  readonly wait?: (milliseconds: number) => Promise<unknown>;
}

async function publish(parts: PublisherParts, envelopes: readonly Envelope[]): Promise<string[]> {
  const { client, topicArn, ids, wait = pause } = parts;
  const { batches: first, tooLarge } = batches(envelopes.map(messageOf));
  const left: Message[] = [...tooLarge];
  let refusal: EdowError | undefined;
  let round = first;
  for (let more = 0; round.length > 0; more++) {
    const again: Message[] = [];
    for (const batch of round) {
      const outcome = await sendBatch(client, topicArn, batch);
      again.push(...outcome.again);
      left.push(...outcome.refused);
      refusal ??= outcome.refusal;
    }
    if (again.length === 0 || more === MORE_ROUNDS) {
      left.push(...again);
      break;
    }
    await wait(ids.random() * FIRST_WAIT_MS * 2 ** more);
    round = batches(again).batches;
  }
  // Where the topic takes nothing at all, it is not the messages: no permission, no such topic.
  if (refusal && left.length === envelopes.length) throw refusal;
  return left.map(({ id }) => id);
}

/**
 * Ids that the topic did not take are returned: still failing after three rounds, refused, or over the limit of
 * 262,144 bytes and never sent.
 * @throws EdowError `port_refused` when the topic refuses every call
 */
export const snsCommands = (parts: PublisherParts): Commands => ({
  publish: (commands: readonly Command[]) => publish(parts, commands),
});

/** As {@link snsCommands}. */
export const snsEvents = (parts: PublisherParts): Events => ({
  publish: (events) => publish(parts, events),
});
