/** Ordered pools: deaths that no handler has seen, races and lost answers keep the order too. */
import { describe, expect, test } from 'vitest';
import { deadAsRead } from '#core/deaths.ts';
import type { StepItem } from '#core/items.ts';
import { lineOf } from '#core/parking.ts';
import type { Refusal, Store } from '#core/store.ts';
import { MINUTE, SECOND } from '#test/examples.ts';
import { broken, KEY, orderedBench, POOL, parkedBench, taskOf } from '#test/ordered-bench.ts';
import { unreliableStore } from '#test/unreliable-store.ts';
import { ACK, again, BURN } from '#test/work-bench.ts';

/** A task of mode `atMostOnce` whose worker was lost: its lease ends now. */
const lostAt = (leaseUntil: number): Partial<StepItem> => ({
  status: 'claimed',
  tries: 1,
  fence: 1,
  owner: 'gone',
  leaseUntil,
  atMostOnce: true,
});

describe('deaths without a handler', () => {
  test('past its deadline: expired, and parked', async () => {
    const bench = await orderedBench();
    await bench.enter('A');
    bench.clock.pass(11 * MINUTE);
    expect(await bench.deliver('A')).toEqual(BURN);
    expect(await bench.stepOf('A')).toMatchObject({ reason: 'expired', parkedAt: `PARK#${POOL}#${KEY}` });
    expect(await bench.park()).toMatchObject({ head: taskOf('A') });
  });

  test('of lost workers: exhausted, and parked', async () => {
    const bench = await orderedBench();
    await bench.enter('A');
    await bench.change('A', {
      status: 'claimed',
      tries: 2,
      fence: 2,
      owner: 'gone',
      leaseUntil: bench.clock.now(),
    });
    bench.clock.pass(20 * SECOND);
    expect(await bench.deliver('A', { receiveCount: 2 })).toEqual(BURN);
    expect(await bench.stepOf('A')).toMatchObject({ reason: 'exhausted' });
    expect(await bench.park()).toMatchObject({ head: taskOf('A') });
  });

  test.each([
    ['of a task with tries left', {}],
    ['of a task without', { tries: 2 }],
  ])('%s whose place in line is refused again and again: looked at again', async (_name, changes) => {
    const bench = await orderedBench({
      store: (memory) => ({
        ...memory,
        transact: async (updates, others) => {
          const reason = updates[0]?.changes['reason'] as { to?: string } | undefined;
          if (reason?.to !== 'key_parked') return memory.transact(updates, others);
          return {
            written: false,
            refusals: [{ why: 'condition', item: (await bench.stepOf('B')) as never }],
          };
        },
      }),
    });
    await bench.enter('A', 'B');
    bench.failing.set('A', broken);
    await bench.drive('A');
    await bench.change('B', changes);
    expect(await bench.deliver('B', { receiveCount: 2 })).toEqual(again(1));
  });

  test('of an atMostOnce task whose worker was lost behind the line: unknown, in its place', async () => {
    const bench = await parkedBench();
    await bench.change('D', lostAt(bench.clock.now()));
    bench.clock.pass(20 * SECOND);
    expect(await bench.deliver('D')).toEqual(BURN);
    expect(await bench.stepOf('D')).toMatchObject({ reason: 'unknown' });
    expect(await bench.park()).toMatchObject({ last: taskOf('D') });
  });

  test.each([
    ['wrote one first', { status: 'dead', reason: 'unknown' }, 'unknown', 1],
    ['let it be tried again', { status: 'retrying' }, 'key_parked', 1],
    ['let it be tried again, for a later copy', { status: 'retrying' }, 'key_parked', 2],
  ] as const)(
    'behind the line, where somebody else %s: not tried',
    async (_name, changes, reason, receiveCount) => {
      const bench = await orderedBench({
        store: (memory) => ({
          ...memory,
          transact: async (updates, others) => {
            const [own] = updates;
            if ((own?.changes['reason'] as { to?: string } | undefined)?.to !== 'unknown')
              return memory.transact(updates, others);
            const item = { ...(await bench.stepOf('B')), ...changes } as never;
            await memory.put({ item, when: { all: [] } });
            return { written: false, refusals: [{ why: 'condition', item }] };
          },
        }),
      });
      await bench.enter('A', 'B');
      bench.failing.set('A', broken);
      await bench.drive('A');
      await bench.change('B', lostAt(bench.clock.now()));
      bench.clock.pass(20 * SECOND);
      expect(await bench.deliver('B', { receiveCount })).toEqual(BURN);
      expect(await bench.stepOf('B')).toMatchObject({ status: 'dead', reason });
      expect(bench.effects).toEqual([]);
    },
  );

  test('a live holder behind the line is left alone', async () => {
    const bench = await parkedBench();
    await bench.change('D', {
      status: 'claimed',
      tries: 1,
      fence: 1,
      owner: 'busy',
      leaseUntil: bench.clock.now() + MINUTE,
    });
    expect(await bench.deliver('D', { receiveCount: 2 })).toEqual(again(76));
    expect(await bench.stepOf('D')).toMatchObject({ status: 'claimed', owner: 'busy' });
  });

  test('on the last receive of a wait behind the line: starved, in its place', async () => {
    const bench = await parkedBench();
    await bench.change('D', {
      status: 'retrying',
      tries: 1,
      fence: 1,
      notBefore: bench.clock.now() + MINUTE,
    });
    expect(await bench.deliver('D', { receiveCount: 17 })).toEqual(BURN);
    expect(await bench.stepOf('D')).toMatchObject({ reason: 'starved' });
    expect(await bench.park()).toMatchObject({ last: taskOf('D') });
  });
});

describe('races and lost answers', () => {
  test('a death whose answer was lost is one death', async () => {
    const bench = await orderedBench({
      store: (memory) =>
        unreliableStore(memory, { lost: ({ name, number }) => name === 'transact' && number === 1 }),
    });
    await bench.enter('A');
    bench.failing.set('A', broken);
    expect(await bench.deliver('A')).toEqual(BURN);
    expect(await bench.stepOf('A')).toMatchObject({ status: 'dead', deaths: 1 });
    expect(await bench.park()).toMatchObject({ head: taskOf('A') });
  });

  test('the last place taken by somebody else meanwhile: the next one', async () => {
    const held: { memory?: Store } = {};
    const bench = await orderedBench({
      store: (memory) => {
        held.memory = memory;
        return unreliableStore(memory, {
          before: ({ name, number }) => (name === 'transact' && number === 2 ? other?.() : undefined),
        });
      },
    });
    await bench.enter('A', 'B', 'C');
    bench.failing.set('A', broken);
    await bench.drive('A');
    const other = async () => {
      const step = { ...(await bench.stepOf('C')), status: 'dead' as const };
      await bench.memory.put({ item: step as never, when: { all: [] } });
      const line = lineOf(bench.memory, POOL, { partitionkey: KEY, id: taskOf('C') } as never);
      await line.bury({ key: { PK: step.PK, SK: step.SK }, when: deadAsRead(step), changes: {} }, step);
    };
    expect(await bench.deliver('B')).toEqual(BURN);
    expect(await bench.park()).toMatchObject({ head: taskOf('A'), last: taskOf('B') });
    expect(await bench.stepOf('C')).toMatchObject({ parkNext: taskOf('B') });
  });

  const refusing =
    (why: Refusal['why'], times: number) =>
    (memory: Store): Store => {
      let left = times;
      return {
        ...memory,
        transact: async (updates, others) => {
          if (left === 0) return memory.transact(updates, others);
          left -= 1;
          return { written: false, refusals: [undefined, { why, item: undefined } as Refusal] };
        },
      };
    };

  test.each([
    ['a place that is lost again and again', 'condition', 5],
    ['a conflict that does not end', 'conflict', 1],
  ] as const)('%s: nothing was written, the message comes back', async (_name, why, times) => {
    const bench = await orderedBench({ store: refusing(why, times) });
    await bench.enter('A');
    bench.failing.set('A', broken);
    // The claim stands: back when its lease is over.
    expect(await bench.deliver('A')).toEqual(again(26));
    expect(await bench.stepOf('A')).toMatchObject({ status: 'claimed' });
  });

  test('a line that cannot be cleared at once is left to the next claim', async () => {
    const bench = await orderedBench({
      store: (memory) =>
        unreliableStore(memory, { lost: ({ name, number }) => name === 'get' && number === 6 }),
    });
    await bench.enter('A');
    bench.failing.set('A', broken);
    expect(await bench.deliver('A')).toEqual(BURN);
    bench.failing.clear();
    bench.clock.pass(MINUTE);
    expect(await bench.deliver('A', { replay: 1, messageId: 'replay', sentAt: bench.clock.now() })).toEqual(
      ACK,
    );
    expect(bench.effects).toEqual(['A']);
  });
});

test('a command without its key is none of an ordered pool: a dead letter, and the log says why', async () => {
  const bench = await orderedBench();
  await bench.enter('A');
  expect(await bench.deliver('A', {}, null)).toEqual(BURN);
  expect(bench.effects).toEqual([]);
  expect(bench.log.lines).toContainEqual(
    expect.objectContaining({ message: 'command of an ordered pool without its key' }),
  );
});
