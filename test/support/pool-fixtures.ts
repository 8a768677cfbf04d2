/** Work queues, Lambda contexts and log lines for tests of entry points: the real handlers, everything else in memory. */
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { onTestFinished, vi } from 'vitest';
import { systemClock } from '#adapters/system.ts';
import { handle, type TaskHandler } from '#core/contract.ts';
import type { Command } from '#core/envelope.ts';
import { stepItemKey } from '#core/items.ts';
import { wireText } from '#core/json-text.ts';
import type { Visibility } from '#core/ports.ts';
import { maxReceiveCount } from '#core/retry.ts';
import type { BatchOptions } from '#runtime/batch.ts';
import { type PoolPorts, workerPool } from '#runtime/worker-pool.ts';
import { aCommand, aRun, aStep, reserve, seed, T0 } from './examples.ts';
import { seededIds } from './memory/determinate.ts';
import { memoryPayloads } from './memory/payloads.ts';
import { memoryStore } from './memory/store.ts';

/** The machine's clock stands at T0 until {@link pass} moves it; timers stay real. */
export function virtualTime(): void {
  vi.useFakeTimers({ toFake: ['Date'], now: T0 });
  onTestFinished(() => void vi.useRealTimers());
}

/** Moves the machine's clock. Milliseconds. */
export const pass = (milliseconds: number): void => void vi.setSystemTime(Date.now() + milliseconds);

let requests = 0;

/** Lambda's context of a new call. @param remainingMs until Lambda ends it, default one minute */
export function lambdaContext(remainingMs = 60_000): Context {
  const deadline = Date.now() + remainingMs;
  requests += 1;
  return {
    awsRequestId: `request-${requests}`,
    getRemainingTimeInMillis: () => deadline - Date.now(),
    functionName: 'under-test',
    functionVersion: '1',
  } as Context;
}

/** Everything that is printed from now on, until the test ends. */
export function printed(): { readonly lines: string[]; entries(): Record<string, unknown>[] } {
  const lines: string[] = [];
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    lines.push(...String(text).replace(/\n$/, '').split('\n'));
    return true;
  });
  onTestFinished(() => spy.mockRestore());
  return { lines, entries: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

let messages = 0;

/** One SQS record. Ids are new unless they are given. */
export function sqsRecord(body: string, changes: Partial<SQSRecord> = {}, receives = 1): SQSRecord {
  messages += 1;
  return {
    messageId: `message-${messages}`,
    receiptHandle: `receipt-${messages}`,
    body,
    attributes: {
      ApproximateReceiveCount: String(receives),
      SentTimestamp: String(Date.now()),
      SenderId: 'sender',
      ApproximateFirstReceiveTimestamp: String(Date.now()),
    },
    messageAttributes: {},
    md5OfBody: '',
    eventSource: 'aws:sqs',
    eventSourceARN: 'arn:aws:sqs:eu-west-1:000000000000:work',
    awsRegion: 'eu-west-1',
    ...changes,
  };
}

/** What SNS hands on: the body as the publisher writes it. */
export const bodyOf = (command: Command): string => wireText(command);

/** Ids that were reported. */
export const reported = (response: SQSBatchResponse): string[] =>
  response.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);

export interface VisibilityChange {
  readonly receiptHandle: string;
  readonly seconds: number;
}

/** Takes what SQS takes, and keeps it. */
export function recordedVisibility(): Visibility & { readonly changes: VisibilityChange[] } {
  const changes: VisibilityChange[] = [];
  return {
    changes,
    change: async (receiptHandle, seconds) => {
      if (!Number.isInteger(seconds) || seconds < 0 || seconds > 43_200)
        throw new RangeError(`visibility ${seconds}: SQS takes whole seconds from 0 to 43,200`);
      changes.push({ receiptHandle, seconds });
    },
  };
}

const RUN_PREFIX = '01K8ZZ000000000000000';
/** The id of the nth example run. */
export const runIdOf = (n: number): string => `${RUN_PREFIX}${String(n).padStart(5, '0')}`;

/** Puts the nth run with its step Reserve, just entered, and gives the command of it. */
export async function enteredTask(
  ports: { readonly store: PoolPorts['store'] },
  n: number,
  changes: Partial<Command> = {},
): Promise<Command> {
  const runId = runIdOf(n);
  const step = { ...aStep(), ...stepItemKey(runId, 'Reserve'), runId };
  await seed(ports.store, { ...aRun({ runId }), PK: `RUN#${runId}` }, step);
  return aCommand({ correlationid: `corr-${n}`, data: { orderId: `o-${n}` }, ...changes }, step);
}

/** Ports of a pool in memory, on the machine's clock. */
export function poolPorts() {
  return {
    store: memoryStore(),
    payloads: memoryPayloads(),
    visibility: recordedVisibility(),
    clock: systemClock,
    ids: seededIds(systemClock, String(messages)),
    version: 'test-version',
  };
}

/** What the downstream does before an effect counts; `calls` with this key so far. */
type Effect = (key: string, calls: number) => Promise<void> | void;

/** A pool whose downstream counts calls and effects by idempotency key, outside of the product's books. */
export function countingPool(
  effect: Effect = () => {},
  options: BatchOptions & { readonly ports?: Partial<PoolPorts> } = {},
) {
  const own = poolPorts();
  const ports = { ...own, ...options.ports };
  const calls = new Map<string, number>();
  const effects = new Map<string, number>();
  const add = (books: Map<string, number>, key: string): number => {
    books.set(key, (books.get(key) ?? 0) + 1);
    return books.get(key) ?? 0;
  };
  const run = handle(reserve, async (_order, ctx) => {
    await effect(ctx.idempotencyKey, add(calls, ctx.idempotencyKey));
    add(effects, ctx.idempotencyKey);
    return { reservationId: `r-${ctx.idempotencyKey}` };
  });
  const handler = workerPool(ports, [run], options) as unknown as QueueHandler;
  return { ...ports, payloads: own.payloads, visibility: own.visibility, handler, calls, effects };
}

interface Waiting {
  readonly messageId: string;
  readonly body: string;
  readonly sentAt: number;
  readonly attributes: SQSRecord['messageAttributes'];
  receiptHandle: string;
  receives: number;
  receivedAt: number;
  visibleAt: number;
}

export type QueueHandler = (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>;

/** SQS counts a message's visibility from its receive. */
const TWELVE_HOURS_MS = 43_200_000;
/** Seconds that a message of {@link workQueue} stays hidden when its handler does not say. */
const QUEUE_SECONDS = 90;

/** A standard queue with a DLQ in front of one handler, on the machine's clock. */
export function workQueue(maxReceives = maxReceiveCount(3)) {
  let waiting: Waiting[] = [];
  const dead: Waiting[] = [];
  /** Seconds of every change of visibility, in order. */
  const hidden: number[] = [];
  const checked = recordedVisibility();
  const visibility: Visibility = {
    change: async (receiptHandle, seconds) => {
      await checked.change(receiptHandle, seconds);
      hidden.push(seconds);
      for (const message of waiting) {
        if (message.receiptHandle !== receiptHandle) continue;
        const visibleAt = Date.now() + seconds * 1000;
        if (visibleAt > message.receivedAt + TWELVE_HOURS_MS)
          throw new RangeError('SQS: Total VisibilityTimeout for the message is beyond the limit');
        message.visibleAt = visibleAt;
      }
    },
  };

  const send = (body: string, attributes: SQSRecord['messageAttributes'] = {}): void => {
    messages += 1;
    const ids = { messageId: `message-${messages}`, receiptHandle: '' };
    waiting.push({
      ...ids,
      body,
      attributes,
      sentAt: Date.now(),
      receives: 0,
      visibleAt: Date.now(),
      receivedAt: 0,
    });
  };

  function receive(most: number): Waiting[] {
    const visible = waiting.filter(({ visibleAt }) => visibleAt <= Date.now());
    const gone = visible.filter(({ receives }) => receives >= maxReceives);
    dead.push(...gone);
    waiting = waiting.filter((message) => !gone.includes(message));
    const taken = visible.filter((message) => !gone.includes(message)).slice(0, most);
    for (const message of taken) {
      message.receives += 1;
      message.receivedAt = Date.now();
      message.receiptHandle = `${message.messageId}/${message.receives}`;
      message.visibleAt = Date.now() + QUEUE_SECONDS * 1000;
    }
    return taken;
  }

  /** Hands one batch over, as an event source mapping does. A throw leaves all of it on the queue. */
  async function deliver(handler: QueueHandler, remainingMs?: number, most = 10): Promise<number> {
    const taken = receive(most);
    if (taken.length === 0) return 0;
    const records = taken.map(({ body, messageId, receiptHandle, receives, sentAt, attributes }) => {
      const record = sqsRecord(body, { messageId, receiptHandle, messageAttributes: attributes }, receives);
      return { ...record, attributes: { ...record.attributes, SentTimestamp: String(sentAt) } };
    });
    try {
      const failed = new Set(reported(await handler({ Records: records }, lambdaContext(remainingMs))));
      const finished = taken.filter(({ messageId }) => !failed.has(messageId));
      waiting = waiting.filter((message) => !finished.includes(message));
    } catch {
      // The mapping leaves every message to its visibility time-out.
    }
    return taken.length;
  }

  /** Delivers until nothing is left, passing the time between. */
  async function drain(handler: QueueHandler, remainingMs?: number): Promise<void> {
    for (let rounds = 0; waiting.length > 0; rounds += 1) {
      if (rounds > 500) throw new Error('the queue does not get empty');
      const next = Math.min(...waiting.map(({ visibleAt }) => visibleAt));
      if (next > Date.now()) vi.setSystemTime(next);
      await deliver(handler, remainingMs);
    }
  }

  /** AWS's move task: new message id, new send time, the same body. @param attributes those of our own replay */
  const redrive = (attributes?: SQSRecord['messageAttributes']): void => {
    for (const message of dead.splice(0)) send(message.body, attributes ?? message.attributes);
  };

  return {
    send,
    deliver,
    drain,
    redrive,
    visibility,
    dead,
    hidden,
    waiting: () => waiting.length,
    /** When each message comes back, epoch milliseconds. */
    visibleAt: () => waiting.map(({ visibleAt }) => visibleAt),
  };
}

/** A pool whose queue is {@link workQueue}. */
export function poolOnQueue(
  handlers: readonly TaskHandler[],
  { maxReceives, ...options }: BatchOptions & { readonly maxReceives?: number } = {},
) {
  const queue = workQueue(maxReceives);
  const ports = { ...poolPorts(), visibility: queue.visibility };
  return { ...ports, queue, handler: workerPool(ports, handlers, options) as unknown as QueueHandler };
}
