import { describe, expect, test } from 'vitest';
import { PermanentError, PortUnavailable } from '#core/errors.ts';
import type { StepItem } from '#core/items.ts';
import type { Store } from '#core/store.ts';
import { aDeadStep, aDoneStep, aStep, SECOND, seed, T0 } from '#test/examples.ts';
import { unreliableStore } from '#test/unreliable-store.ts';
import { ACK, again, BURN, workBench } from '#test/work-bench.ts';

const noAnswer = async () => {
  throw new Error('no answer');
};

describe('an answer that was lost', () => {
  const losing = (lost: (number: number) => boolean) => (memory: Store) =>
    unreliableStore(memory, { lost: ({ name, number }) => name === 'update' && lost(number) });

  test('of the claim: the claim is mine, and there is one try', async () => {
    const bench = await workBench({ step: aStep(), store: losing((number) => number === 1) });
    expect(await bench.deliver()).toEqual(ACK);
    expect(bench.calls).toHaveLength(1);
    expect(await bench.now()).toMatchObject({ status: 'done', fence: 1, tries: 1 });
  });

  test('of the commit: the commit is mine', async () => {
    const bench = await workBench({ step: aStep(), store: losing((number) => number === 2) });
    expect(await bench.deliver()).toEqual(ACK);
    expect(await bench.now()).toMatchObject({ status: 'done', seq: 1 });
  });

  test('of the retry: the wait is mine', async () => {
    const bench = await workBench({
      step: aStep(),
      handler: noAnswer,
      store: losing((number) => number === 2),
    });
    expect(await bench.deliver()).toEqual(again(1));
    expect(await bench.now()).toMatchObject({ status: 'retrying', tries: 1 });
  });

  test('of the death: the death is mine', async () => {
    const refuse = async () => {
      throw new PermanentError('no');
    };
    const bench = await workBench({
      step: aStep(),
      handler: refuse,
      store: losing((number) => number === 2),
    });
    expect(await bench.deliver()).toEqual(BURN);
    expect(await bench.now()).toMatchObject({ status: 'dead', deaths: 1 });
    expect(bench.log.lines).toContainEqual(expect.objectContaining({ message: 'task gave up' }));
  });

  test.each([
    ['of the claim twice', [1, 2], 0],
    ['of the commit twice', [2, 3], 1],
  ])(
    '%s: nobody knows, so the message comes back when that claim may be taken over',
    async (_what, lost, calls) => {
      const bench = await workBench({ step: aStep(), store: losing((number) => lost.includes(number)) });
      // The function's 30 s, 15 s of grace, and what it takes to be past both.
      expect(await bench.deliver()).toEqual(again(46));
      expect(bench.calls).toHaveLength(calls);
      expect(bench.log.lines.at(-1)).toMatchObject({ level: 'error', message: 'a port is away' });
      bench.clock.pass(46 * SECOND);
      expect(await bench.deliver({ receiveCount: 2 })).toEqual(ACK);
      expect(await bench.now()).toMatchObject({ status: 'done', tries: calls === 0 ? 2 : 1 });
    },
  );

  test('of a look: nothing was claimed, so the message comes back soon, and less and less soon', async () => {
    const away = (memory: Store): Store => ({
      ...memory,
      get: async () => {
        throw new PortUnavailable('GetItem is unavailable: TimeoutError');
      },
    });
    const bench = await workBench({ step: aStep(), store: away });
    const waits = [];
    for (const receiveCount of [2, 3, 4, 18]) waits.push(await bench.deliver({ receiveCount }));
    expect(waits).toEqual([again(5), again(10), again(20), again(300)]);
    expect(await bench.now()).toEqual(aStep());
  });

  test.each([
    ['at once is not asked twice', 1],
    ['at the second time of asking is not asked again', 2],
  ])('a store that refuses for good %s', async (_what, refusedAt) => {
    let asked = 0;
    const refusing = (memory: Store): Store => ({
      ...memory,
      update: async () => {
        asked += 1;
        throw asked < refusedAt ? new PortUnavailable('no answer') : new Error('no permission');
      },
    });
    const bench = await workBench({ step: aStep(), store: refusing });
    await expect(bench.deliver()).rejects.toThrow('no permission');
    expect(asked).toBe(refusedAt);
  });

  test('a nonce that the item shows is my own claim', async () => {
    const bench = await workBench({ step: aStep() });
    const other = await workBench({ step: aStep(), handler: () => new Promise(() => {}) });
    void other.deliver();
    await new Promise(setImmediate);
    // The same seed draws the same nonce: a delivery that looks first finds its own claim.
    await seed(bench.memory, await other.now());
    expect(await bench.deliver({ receiveCount: 2 })).toEqual(ACK);
    expect(await bench.now()).toMatchObject({ status: 'done', fence: 1, tries: 1 });
  });
});

describe('a holder that was overtaken writes nothing', () => {
  const overtaken = (takenBy: StepItem, then: () => Promise<unknown>) => async () => {
    const bench = await workBench({
      step: aStep(),
      handler: async () => {
        await seed(bench.memory, takenBy);
        return then();
      },
    });
    const disposition = await bench.deliver();
    expect(await bench.now()).toEqual(takenBy);
    return disposition;
  };
  const success = async () => ({ reservationId: 'r-late' });
  const forGood = async () => {
    throw new PermanentError('late');
  };
  const other = aStep({
    status: 'claimed',
    owner: 'other',
    fence: 2,
    tries: 2,
    leaseUntil: T0 + 16 * SECOND,
  });
  const cancelled = aStep({ status: 'cancelled', fence: 1 });

  test.each<[string, StepItem, () => Promise<unknown>, object]>([
    ['a cancelled task never commits', cancelled, success, ACK],
    ['nor retries', cancelled, noAnswer, ACK],
    ['nor dies', cancelled, forGood, ACK],
    ['a commit after another claimed waits for that one', other, success, again(31)],
    ['so does a retry', other, noAnswer, again(31)],
    ['and a death', other, forGood, again(31)],
    ['a commit after another was done is done', aDoneStep({ fence: 2, owner: 'other' }), success, ACK],
    ["a commit after the task died comes back, to be that death's copy", aDeadStep(), success, again(1)],
    [
      'a death after another death comes back, too',
      aDeadStep({ deadMessageId: 'message-2' }),
      forGood,
      again(1),
    ],
  ])('%s', async (_what, takenBy, then, disposition) => {
    expect(await overtaken(takenBy, then)()).toEqual(disposition);
  });

  test('a step that is gone lets nothing be written', async () => {
    const vanishing = (memory: Store) => ({
      ...memory,
      update: async (update: Parameters<Store['update']>[0]) =>
        'result' in update.changes || 'failure' in update.changes || 'attempts' in update.changes
          ? ({ written: false, item: undefined } as const)
          : memory.update(update),
    });
    for (const handler of [success, forGood, noAnswer]) {
      const bench = await workBench({ step: aStep(), handler, store: vanishing });
      expect(await bench.deliver()).toEqual(again(1));
      expect(bench.log.lines).toContainEqual(
        expect.objectContaining({ message: 'claim was lost before its outcome' }),
      );
    }
  });
});

describe('a claim that loses races', () => {
  test('is tried three times in a row, then comes back', async () => {
    let refused = 0;
    const racing = (memory: Store): Store => ({
      ...memory,
      update: async () => {
        refused += 1;
        return { written: false, item: aStep() as never };
      },
    });
    const bench = await workBench({ step: aStep(), store: racing });
    expect(await bench.deliver()).toEqual(again(1));
    expect(refused).toBe(3);
  });
});
