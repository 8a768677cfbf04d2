/** What every adapter of the functions' queues does. */
import { beforeAll, expect, test } from 'vitest';
import type { DeadLetterPeek, QueueDepth, RetryQueue, Visibility } from '#core/ports.ts';

export interface QueuesUnderTest {
  readonly visibility: Visibility;
  readonly retryQueue: RetryQueue;
  /** Knows the queue of `inventory.stock.reserve`, where `held` messages come from. */
  readonly depth: QueueDepth;
  /** Puts a message into the work queue. */
  readonly enqueue: () => Promise<void>;
  /** Receives it; undefined when none is visible. Gives the receipt handle. */
  readonly receive: () => Promise<string | undefined>;
  /** Knows the dead letters of pool `work`. */
  readonly letters: DeadLetterPeek;
  /** Puts a message among them. */
  readonly bury: (body: string) => Promise<void>;
  /** Bodies in the retry queue. */
  readonly retries: () => Promise<string[]>;
}

const TYPE = 'inventory.stock.reserve';

/** @param make queues that nobody else uses; called once */
export function queuesContract(make: () => Promise<QueuesUnderTest>): void {
  let queues: QueuesUnderTest;
  beforeAll(async () => {
    queues = await make();
  });

  test('a message waits, is held, and comes back when it is let go', async () => {
    expect(await queues.depth.waiting(TYPE)).toBe(0);
    await queues.enqueue();
    expect(await queues.depth.waiting(TYPE)).toBe(1);
    const handle = (await queues.receive()) as string;
    expect(await queues.depth.waiting(TYPE)).toBe(0);
    await queues.visibility.change(handle, 42_000);
    expect(await queues.receive()).toBeUndefined();
    await queues.visibility.change(handle, 0);
    expect(await queues.receive()).toBeDefined();
  });

  test('nobody works on a type without a queue', async () => {
    expect(await queues.depth.waiting('nobody.does.this')).toBeUndefined();
    expect(await queues.depth.waiting('toString')).toBeUndefined();
  });

  test('a retry carries the record as it was packed', async () => {
    const record = '{"PK":"RUN#01","SK":"STEP#Reserve","text":"ä \\u0000 \\uffff"}';
    await queues.retryQueue.send(record);
    expect(await queues.retries()).toEqual([record]);
  });

  test('a peek at dead letters shows each once, hides them until they are released, and deletes nothing', async () => {
    const { letters, bury } = queues;
    expect(letters.pools).toEqual(['work']);
    expect(await letters.peek('work', 50)).toEqual([]);
    const began = Date.now();
    const bodies = Array.from({ length: 13 }, (_, index) => `letter ${index} ä \u{1f4ee}`);
    for (const body of bodies) await bury(body);
    const seen = await letters.peek('work', 50);
    expect(seen.map(({ body }) => body).sort()).toEqual([...bodies].sort());
    expect(new Set(seen.map(({ messageId }) => messageId)).size).toBe(13);
    for (const { sentAt } of seen)
      expect(Number.isFinite(sentAt) && sentAt > began - 365 * 86_400_000).toBe(true);
    expect(await letters.peek('work', 50)).toEqual([]);
    await letters.release('work', seen);
    const again = await letters.peek('work', 5);
    expect(again.length).toBeGreaterThanOrEqual(5);
    expect(again.length).toBeLessThan(13);
    await letters.release('work', again);
    const ids = (some: readonly { messageId: string }[]) => some.map(({ messageId }) => messageId).sort();
    expect(ids(await letters.peek('work', 50))).toEqual(ids(seen));
  });
}
