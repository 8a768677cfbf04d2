/** What every adapter of the functions' queues does. */
import { beforeAll, expect, test } from 'vitest';
import type { QueueDepth, RetryQueue, Visibility } from '#core/ports.ts';

export interface QueuesUnderTest {
  readonly visibility: Visibility;
  readonly retryQueue: RetryQueue;
  /** Knows the queue of `inventory.stock.reserve`, where `held` messages come from. */
  readonly depth: QueueDepth;
  /** Puts a message into the work queue. */
  readonly enqueue: () => Promise<void>;
  /** Receives it; undefined when none is visible. Gives the receipt handle. */
  readonly receive: () => Promise<string | undefined>;
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
}
