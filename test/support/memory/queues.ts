/** Queues in memory. */
import type {
  Clock,
  DeadLetterPeek,
  PeekedLetter,
  QueueDepth,
  Retelling,
  RetryQueue,
  Visibility,
} from '#core/ports.ts';
import type { Item } from '#core/store.ts';
import { storedItem } from '#core/store-rules.ts';

export interface ReceivedMessage {
  readonly receiptHandle: string;
  readonly body: string;
  /** From 1. */
  readonly receives: number;
}

/** A standard queue: a received message is hidden for a while and comes back unless it is deleted. */
export interface MemoryQueue {
  send(body: string): void;
  /** The message that waits longest, if any is visible. */
  receive(): ReceivedMessage | undefined;
  remove(receiptHandle: string): void;
  /** Messages that are visible. */
  waiting(): number;
  readonly visibility: Visibility;
}

/** @param visibilitySeconds how long a received message stays hidden. Default 60 */
export function memoryQueue(clock: Clock, visibilitySeconds = 60): MemoryQueue {
  interface Message {
    readonly body: string;
    receiptHandle: string;
    receives: number;
    visibleAt: number;
  }
  let messages: Message[] = [];
  let handles = 0;
  const visible = () => messages.filter(({ visibleAt }) => visibleAt <= clock.now());
  const hideUntil = (message: Message, seconds: number): void => {
    message.visibleAt = clock.now() + seconds * 1000;
  };
  return {
    send: (body) =>
      void messages.push({ body, receiptHandle: '', receives: 0, visibleAt: Number.NEGATIVE_INFINITY }),
    receive: () => {
      const [message] = visible().sort((left, right) => left.visibleAt - right.visibleAt);
      if (message === undefined) return undefined;
      message.receiptHandle = `receipt-${handles++}`;
      message.receives++;
      hideUntil(message, visibilitySeconds);
      const { receiptHandle, body, receives } = message;
      return { receiptHandle, body, receives };
    },
    remove: (receiptHandle) => {
      messages = messages.filter((message) => message.receiptHandle !== receiptHandle);
    },
    waiting: () => visible().length,
    visibility: {
      change: async (receiptHandle, seconds) => {
        if (!Number.isInteger(seconds) || seconds < 0 || seconds > 43_200)
          throw new RangeError(`visibility is ${seconds}; allowed: whole seconds from 0 to 43,200`);
        const message = messages.find((one) => one.receiptHandle === receiptHandle);
        if (message && message.visibleAt > clock.now()) hideUntil(message, seconds);
      },
    },
  };
}

export interface MemoryRetryQueue extends RetryQueue {
  readonly records: readonly string[];
}

export function memoryRetryQueue(): MemoryRetryQueue {
  const records: string[] = [];
  return { records, send: async (record) => void records.push(record) };
}

/** @param queues command type -> its work queue */
export const memoryQueueDepth = (queues: ReadonlyMap<string, Pick<MemoryQueue, 'waiting'>>): QueueDepth => ({
  waiting: async (commandType) => queues.get(commandType)?.waiting(),
});

export interface MemoryRetelling extends Retelling {
  /** What relay was handed, the oldest first. */
  readonly told: Item[];
}

/** @param projector its queue */
export function memoryRetelling(projector: Pick<MemoryQueue, 'waiting'>): MemoryRetelling {
  const told: Item[] = [];
  return {
    told,
    waiting: async () => projector.waiting(),
    tell: async (image) => void told.push(storedItem(image)),
  };
}

export interface MemoryDeadLetters extends DeadLetterPeek {
  /** Puts a message among the dead letters of a pool; gives its id. */
  add(pool: string, body: string, sentAt?: number): string;
  remove(pool: string, messageId: string): void;
}

/** How long a peek hides a letter, as on SQS. */
const PEEK_MS = 20_000;

export function memoryDeadLetters(clock: Clock, pools: readonly string[]): MemoryDeadLetters {
  const queues = new Map(
    pools.map((pool) => [pool, new Map<string, PeekedLetter & { visibleAt: number }>()]),
  );
  const of = (pool: string) => queues.get(pool) ?? new Map<string, PeekedLetter & { visibleAt: number }>();
  let made = 0;
  return {
    pools,
    add(pool, body, sentAt = clock.now()) {
      made += 1;
      const messageId = `letter-${made}`;
      of(pool).set(messageId, { messageId, receiptHandle: `handle-${made}`, body, sentAt, visibleAt: 0 });
      return messageId;
    },
    remove: (pool, messageId) => void of(pool).delete(messageId),
    async peek(pool, limit) {
      const seen = [...of(pool).values()].filter(({ visibleAt }) => visibleAt <= clock.now()).slice(0, limit);
      for (const letter of seen) letter.visibleAt = clock.now() + PEEK_MS;
      return seen.map(({ visibleAt: _, ...letter }) => letter);
    },
    async release(pool, letters) {
      for (const { messageId } of letters) {
        const letter = of(pool).get(messageId);
        if (letter) letter.visibleAt = clock.now();
      }
    },
  };
}
