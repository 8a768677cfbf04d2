/** Trouble for the deployed system: planned faults, copies of messages, and what the books say in the end. */
import { createHash } from 'node:crypto';
import { SubscribeCommand, UnsubscribeCommand } from '@aws-sdk/client-sns';
import {
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SetQueueAttributesCommand,
} from '@aws-sdk/client-sqs';
import type { Command } from '#core/envelope.ts';
import type { Deployed } from './deployed.ts';
import { freshId, STEPS, type StepKey } from './orders.ts';
import type { StubBooks } from './stub-books.ts';

/** Shares of tasks, and of orders for the poison. */
export const SHARES = { failing: 0.2, doubled: 0.1, crashed: 0.05, poisonedEvery: 50 } as const;

/** A number from 0 to 1 that belongs to the text: the same seed makes the same trouble. */
export const chance = (seed: string, text: string): number =>
  createHash('sha256').update(`${seed}:${text}`).digest().readUInt32BE(0) / 2 ** 32;

export interface Planned {
  readonly failing: number;
  readonly crashed: number;
  readonly poisoned: readonly string[];
}

/** The trouble of one step of the order at this place. A poisoned order is refused until it is mended. */
export type FaultAt = (place: number, step: StepKey) => 'crash' | 'error' | 'poison' | undefined;

/** Trouble by {@link SHARES}. */
export const byChance =
  (seed: string): FaultAt =>
  (place, step) => {
    if (step === 'ShipOrder' && (place + 1) % SHARES.poisonedEvery === 0) return 'poison';
    const draw = chance(seed, `${place}/${step}`);
    if (draw < SHARES.crashed) return 'crash';
    return draw < SHARES.crashed + SHARES.failing ? 'error' : undefined;
  };

/** Plans faults for orders by their place in the list. */
export async function planFaults(
  stub: StubBooks,
  orderIds: readonly string[],
  faultAt: FaultAt,
): Promise<Planned> {
  const planned = { failing: 0, crashed: 0, poisoned: [] as string[] };
  for (const [place, orderId] of orderIds.entries())
    for (const { step } of STEPS) {
      const fault = faultAt(place, step);
      if (fault === undefined) continue;
      if (fault === 'poison') planned.poisoned.push(orderId);
      else planned[fault === 'crash' ? 'crashed' : 'failing'] += 1;
      await stub.plan(
        step,
        orderId,
        fault === 'poison' ? { fails: -1, kind: 'permanent' } : { fails: 1, kind: fault },
      );
    }
  return planned;
}

export interface Doubler {
  /** Copies sent so far. */
  readonly sent: () => number;
  stop(): Promise<void>;
}

/**
 * Listens to the commands topic and sends copies of some commands to their work queues, up to ten seconds later.
 * @param share of the commands
 */
export async function doubleMessages(system: Deployed, seed: string, share: number): Promise<Doubler> {
  const { sqs, sns } = system;
  const { QueueUrl = '' } = await sqs.send(new CreateQueueCommand({ QueueName: freshId('doubler') }));
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] }),
  );
  const arn = Attributes?.QueueArn ?? '';
  const statement = {
    Effect: 'Allow',
    Principal: { Service: 'sns.amazonaws.com' },
    Action: 'sqs:SendMessage',
    Resource: arn,
    Condition: { ArnEquals: { 'aws:SourceArn': system.commandsTopic } },
  };
  const Policy = JSON.stringify({ Version: '2012-10-17', Statement: [statement] });
  await sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: { Policy } }));
  const { SubscriptionArn } = await sns.send(
    new SubscribeCommand({
      TopicArn: system.commandsTopic,
      Protocol: 'sqs',
      Endpoint: arn,
      Attributes: { RawMessageDelivery: 'true' },
    }),
  );
  const queueOf = new Map(
    Object.values(system.queues).flatMap(({ types, queueUrl }) => types.map((type) => [type, queueUrl])),
  );
  let sent = 0;
  let stopped = false;

  async function once(): Promise<void> {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 1 }),
    );
    for (const { Body = '' } of Messages) {
      const { id, type } = JSON.parse(Body) as Command;
      const place = id.slice(id.indexOf('/'));
      if (chance(seed, `${id}${place}`) >= share) continue;
      const DelaySeconds = Math.floor(chance(seed, `delay ${id}`) * 10);
      const copy = { QueueUrl: queueOf.get(type), MessageBody: Body, DelaySeconds };
      await sqs.send(new SendMessageCommand(copy));
      sent += 1;
    }
    const Entries = Messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
    if (Entries.length > 0) await sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
  }
  const listening = (async () => {
    while (!stopped) await once();
  })();

  return {
    sent: () => sent,
    async stop() {
      stopped = true;
      await listening;
      await sns.send(new UnsubscribeCommand({ SubscriptionArn }));
      await sqs.send(new DeleteQueueCommand({ QueueUrl }));
    },
  };
}

export interface Tally {
  readonly calls: number;
  readonly effects: number;
  /** Tasks without exactly one effect. */
  readonly wrong: readonly string[];
}

/** What the downstream saw of the tasks of these runs, in its own books. */
export async function tally(
  stub: StubBooks,
  runs: readonly { readonly runId: string; readonly without: readonly StepKey[] }[],
): Promise<Tally> {
  const found = { calls: 0, effects: 0, wrong: [] as string[] };
  for (const { runId, without } of runs)
    for (const { step } of STEPS) {
      const { calls, effects } = await stub.booked(runId, step);
      found.calls += calls;
      found.effects += effects;
      if (effects !== (without.includes(step) ? 0 : 1)) found.wrong.push(`${runId}/${step}: ${effects}`);
    }
  return found;
}
