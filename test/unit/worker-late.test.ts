import { describe, expect, test } from 'vitest';
import type { Store } from '#core/store.ts';
import {
  aCommand,
  aDeadStep,
  aDoneStep,
  aRun,
  aStep,
  FIRST,
  MINUTE,
  SECOND,
  seed,
  T0,
} from '#test/examples.ts';
import { unreliableStore } from '#test/unreliable-store.ts';
import { ACK, BURN, workBench } from '#test/work-bench.ts';

const HOUR = 60 * MINUTE;
const noAnswer = async () => {
  throw new Error('no answer');
};

describe('a copy of a dead task', () => {
  const died = T0 - HOUR;
  const dead = aDeadStep({
    deadAt: died,
    failure: { class: 'retryable', name: 'X', message: 'x', fingerprint: 'x' },
  });

  test('burns, and a pair that is new is noted for the next copy', async () => {
    const next = aCommand({ entry: 1 });
    const bench = await workBench({ step: aDeadStep({ deadAt: T0 }) });
    expect(await bench.deliver({ command: next, messageId: 'message-2' })).toEqual(BURN);
    expect((await bench.now()).met).toEqual(new Set([`${FIRST}.0`, `${FIRST}.1`]));
    expect(bench.calls).toEqual([]);
  });

  test('that was redriven has a new round of tries', async () => {
    const bench = await workBench({ step: dead });
    expect(await bench.deliver({ messageId: 'message-2' })).toEqual(ACK);
    expect(await bench.now()).toMatchObject({ status: 'done', tries: 1, fence: 4, started: 4, deaths: 1 });
  });

  test('that was replayed has one by its number, and looks before it claims', async () => {
    const bench = await workBench({ step: aDeadStep({ deadAt: T0 }) });
    expect(await bench.deliver({ replay: 1 })).toEqual(ACK);
    expect(await bench.now()).toMatchObject({ status: 'done', replay: 1 });
  });

  test('that two workers got at the same time is revived once', async () => {
    const bench = await workBench({ step: dead });
    await Promise.all([bench.deliver({ messageId: 'message-2' }), bench.deliver({ messageId: 'message-3' })]);
    expect(bench.calls).toHaveLength(1);
    expect(await bench.now()).toMatchObject({ status: 'done', started: 4 });
  });

  test('that fails again dies of its own message, so that its copies burn', async () => {
    const bench = await workBench({ step: { ...dead, fence: 3, tries: 3 }, handler: noAnswer });
    for (let receiveCount = 1; receiveCount <= 6; receiveCount += 1) {
      await bench.deliver({ messageId: 'message-2', receiveCount, sentAt: T0 });
      bench.clock.pass(MINUTE);
    }
    expect(bench.calls).toHaveLength(3);
    expect(await bench.now()).toMatchObject({
      status: 'dead',
      deadMessageId: 'message-2',
      started: 6,
      deaths: 2,
    });
  });
});

describe('a command whose deadline has passed', () => {
  const late = T0 + 11 * MINUTE;
  const held = aRun({ status: 'held' });
  const arrive = async (given: Parameters<typeof workBench>[0]) => {
    const bench = await workBench(given);
    bench.clock.pass(late - bench.clock.now());
    return bench;
  };

  test('dies expired and burns, with no try', async () => {
    const bench = await arrive({ step: aStep() });
    expect(await bench.deliver()).toEqual(BURN);
    expect(bench.calls).toEqual([]);
    expect(await bench.now()).toMatchObject({
      status: 'dead',
      reason: 'expired',
      deadAt: late,
      failure: { name: 'DeadlinePassed' },
      outcomeExecution: FIRST,
    });
  });

  test('at its very instant it has passed', async () => {
    const bench = await workBench({ step: aStep() });
    bench.clock.pass(aStep().deadline - bench.clock.now());
    expect(await bench.deliver()).toEqual(BURN);
    expect(await bench.now()).toMatchObject({ reason: 'expired' });
  });

  test('is worked on when the step has a later one: it was entered again', async () => {
    const bench = await arrive({ step: aStep({ deadline: late + 1 }) });
    expect(await bench.deliver()).toEqual(ACK);
  });

  test.each<[string, object]>([
    ['sent again well after its step began', { sentAt: T0 + 10 * MINUTE }],
    ['replayed', { replay: 1 }],
  ])('has a fresh deadline when its run is held and it was %s', async (_what, delivery) => {
    const bench = await arrive({ run: held, step: aStep() });
    expect(await bench.deliver(delivery)).toEqual(ACK);
    expect(await bench.now()).toMatchObject({ status: 'done', deadline: late + 10 * MINUTE });
  });

  test('dies in a held run when nobody sent it again', async () => {
    const bench = await arrive({ run: held, step: aStep() });
    expect(await bench.deliver({ sentAt: T0 + 15 * SECOND })).toEqual(BURN);
    expect(await bench.now()).toMatchObject({ reason: 'expired' });
  });

  test('of a dead task in a held run: a redrive revives it, with a fresh deadline', async () => {
    const bench = await arrive({ run: held, step: aDeadStep({ reason: 'expired' }) });
    expect(await bench.deliver({ messageId: 'message-2', sentAt: T0 + 10 * MINUTE })).toEqual(ACK);
    expect(await bench.now()).toMatchObject({ status: 'done', tries: 1, deadline: late + 10 * MINUTE });
  });

  test('of a dead task in a running run: a redrive burns, and the death stays as it was', async () => {
    const bench = await arrive({ step: aDeadStep() });
    expect(await bench.deliver({ messageId: 'message-2', sentAt: T0 + 10 * MINUTE })).toEqual(BURN);
    expect(await bench.now()).toEqual(aDeadStep());
  });

  test('of a run that is not on record dies', async () => {
    const bench = await arrive({ step: aStep() });
    const without: Store = {
      ...bench.memory,
      get: async (key) => (key.SK === 'RUN' ? undefined : bench.memory.get(key)),
    };
    const blind = await workBench({ step: aStep(), store: () => without });
    blind.clock.pass(late - blind.clock.now());
    expect(await blind.deliver()).toEqual(BURN);
    expect(await bench.now()).toMatchObject({ reason: 'expired' });
  });

  test('that is done is acked, not expired', async () => {
    const bench = await arrive({ step: aDoneStep() });
    expect(await bench.deliver()).toEqual(ACK);
  });

  test('whose step is entered again meanwhile does not die: it comes back at once', async () => {
    const again = aStep({ deadline: late + HOUR });
    const bench = await arrive({
      step: aStep(),
      store: (memory) =>
        unreliableStore(memory, {
          before: ({ name }) => (name === 'update' ? seed(memory, again) : undefined),
        }),
    });
    expect(await bench.deliver()).toEqual(BURN);
    expect(await bench.now()).toEqual(again);
  });

  test('that another delivery took and gave back meanwhile keeps its event: the next receive looks again', async () => {
    const given = aStep();
    const tried = aStep({ status: 'retrying', fence: 1, tries: 1, started: 1, notBefore: late });
    let isRaced = false;
    const bench = await arrive({
      step: given,
      store: (memory) =>
        unreliableStore(memory, {
          before: ({ name }) => {
            if (name !== 'update' || isRaced) return undefined;
            isRaced = true;
            return seed(memory, tried);
          },
        }),
    });
    expect(await bench.deliver()).toEqual(BURN);
    expect(await bench.now()).toEqual(tried);
    expect(await bench.deliver({ receiveCount: 2 })).toEqual(BURN);
    expect(await bench.now()).toMatchObject({ status: 'dead', reason: 'expired', fence: 1, started: 1 });
  });
});
