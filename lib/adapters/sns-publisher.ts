/** Commands and events on their SNS topics: batched, retried within bounds, never over the limits. */
import { setTimeout as pause } from 'node:timers/promises';
import { PublishBatchCommand, SNSClient } from '@aws-sdk/client-sns';
import type { Command, Envelope } from '#core/envelope.ts';
import { type EdowError, PortUnavailable } from '#core/errors.ts';
import { wireText } from '#core/json-text.ts';
import { deduplicationId } from '#core/ordering-key.ts';
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
  /** Fair queues: one tenant's backlog does not hold up the others. Ordered: the key, and copies are told by an id. */
  readonly group: string;
  readonly deduplicationId?: string;
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
  return { id: envelope.id, body, attributes, bytes: sizeOf(body, attributes), group: envelope.tenant };
}

const orderedMessageOf = (command: OrderedCommand): Message => ({
  ...messageOf(command),
  group: command.partitionkey,
  deduplicationId: deduplicationId(command, 0),
});

/** What became of one batch: what is worth another try, what the topic will never take, and why it said so. */
interface Outcome {
  readonly again: readonly Message[];
  readonly refused: readonly Message[];
  readonly refusal?: EdowError;
}

async function sendBatch(client: SNSClient, topicArn: string, batch: readonly Message[]): Promise<Outcome> {
  const command = new PublishBatchCommand({
    TopicArn: topicArn,
    PublishBatchRequestEntries: batch.map(({ body, attributes, group, deduplicationId }, index) => ({
      Id: String(index),
      Message: body,
      MessageGroupId: group,
      ...(deduplicationId !== undefined && { MessageDeduplicationId: deduplicationId }),
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

async function publish(parts: PublisherParts, messages: readonly Message[]): Promise<string[]> {
  const { client, topicArn, ids, wait = pause } = parts;
  const { batches: first, tooLarge } = batches(messages);
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
  if (refusal && left.length === messages.length) throw refusal;
  return left.map(({ id }) => id);
}

type OrderedCommand = Command & { readonly partitionkey: string };
const isOrdered = (command: Command): command is OrderedCommand => command.partitionkey !== undefined;

/** One command of each key at a time: none goes out before an earlier one of its key that was not taken. */
async function publishInOrder(parts: PublisherParts, commands: readonly OrderedCommand[]): Promise<string[]> {
  const left: string[] = [];
  let waiting = [...commands];
  while (waiting.length > 0) {
    const firsts = new Map<string, OrderedCommand>();
    for (const command of waiting)
      if (!firsts.has(command.partitionkey)) firsts.set(command.partitionkey, command);
    const round = [...firsts.values()];
    const refused = new Set(await publish(parts, round.map(orderedMessageOf)));
    const stuck = new Set(round.filter(({ id }) => refused.has(id)).map(({ partitionkey }) => partitionkey));
    left.push(...waiting.filter(({ partitionkey }) => stuck.has(partitionkey)).map(({ id }) => id));
    waiting = waiting.filter((command) => !round.includes(command) && !stuck.has(command.partitionkey));
  }
  return left;
}

export interface CommandPublisherParts extends PublisherParts {
  /** FIFO topic of the ordered pools. Undefined: there are none, and what needs one is not taken. */
  readonly orderedTopicArn?: string | undefined;
}

/**
 * Ids that the topic did not take are returned: still failing after three rounds, refused, or over the limit of
 * 262,144 bytes and never sent.
 * @throws EdowError `port_refused` when the topic refuses every call
 */
export function snsCommands(parts: CommandPublisherParts): Commands {
  const { orderedTopicArn } = parts;
  return {
    publish: async (commands) => {
      const ordered = commands.filter(isOrdered);
      if (ordered.length === 0) return publish(parts, commands.map(messageOf));
      const others = commands.filter((command) => !isOrdered(command));
      const left = others.length === 0 ? [] : await publish(parts, others.map(messageOf));
      return orderedTopicArn === undefined
        ? [...left, ...ordered.map(({ id }) => id)]
        : [...left, ...(await publishInOrder({ ...parts, topicArn: orderedTopicArn }, ordered))];
    },
  };
}

/** As {@link snsCommands}. */
export const snsEvents = (parts: PublisherParts): Events => ({
  publish: (events) => publish(parts, events.map(messageOf)),
});
