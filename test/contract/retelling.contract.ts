/** What every way back to the topic of events does. */
import { beforeAll, expect, test } from 'vitest';
import type { Retelling } from '#core/ports.ts';
import type { Item } from '#core/store.ts';

export interface RetellingUnderTest {
  readonly retelling: Retelling;
  /** Puts an event into the projector's queue. */
  readonly enqueue: () => Promise<void>;
  /** The projector takes it. */
  readonly receive: () => Promise<void>;
  /** Images that relay reads from what it was handed, since the last look. */
  readonly told: () => Promise<readonly Item[]>;
}

/** @param make queues that nobody else uses; called once */
export function retellingContract(make: () => Promise<RetellingUnderTest>): void {
  let under: RetellingUnderTest;
  beforeAll(async () => {
    under = await make();
  });

  test('what the projector has still to take waits, and no more once it was taken', async () => {
    const { retelling, enqueue, receive } = under;
    expect(await retelling.waiting()).toBe(0);
    await enqueue();
    expect(await retelling.waiting()).toBe(1);
    await receive();
    expect(await retelling.waiting()).toBe(0);
    await enqueue();
    expect(await retelling.waiting()).toBe(1);
    await receive();
  });

  test('an image comes to relay as it was, and does not wait for the projector yet', async () => {
    const { retelling, told } = under;
    const images: readonly Item[] = [
      { PK: 'RUN#01', SK: 'RUN', seq: 1 },
      {
        PK: 'RUN#01',
        SK: 'STEP#Reserve',
        seq: 7,
        text: 'ä \u{1f4ee} \u0000 "quoted"',
        none: '',
        flag: false,
        zero: 0,
        outbox: { type: 'inventory.stock.reserved', data: '{"a":[1,null]}' },
        earlier: [{ type: 'edow.task.failed', seq: 3 }],
        met: new Set(['1/0', '2/0']),
      },
    ];
    for (const image of images) await retelling.tell(image);
    const bySeq = (all: readonly Item[]) => all.toSorted((a, b) => Number(a['seq']) - Number(b['seq']));
    expect(bySeq(await told())).toEqual(images);
    expect(await told()).toEqual([]);
    expect(await retelling.waiting()).toBe(0);
  });
}
