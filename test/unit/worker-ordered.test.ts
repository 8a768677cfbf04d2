/** Ordered pools: a key whose task died is parked, and what follows keeps its order. */
import { describe, expect, test } from 'vitest';
import { PermanentError } from '#core/errors.ts';
import { stepItemKey } from '#core/items.ts';
import type { Store } from '#core/store.ts';
import { MINUTE, seed } from '#test/examples.ts';
import { broken, KEY, orderedBench, POOL, parkedBench, runOf, taskOf } from '#test/ordered-bench.ts';
import { unreliableStore } from '#test/unreliable-store.ts';
import { ACK, again, BURN } from '#test/work-bench.ts';

describe('a task that dies in an ordered pool', () => {
  test('parks its key in the same write', async () => {
    const bench = await orderedBench();
    await bench.enter('A');
    bench.failing.set('A', broken);
    expect(await bench.deliver('A')).toEqual(BURN);
    expect(await bench.stepOf('A')).toMatchObject({
      status: 'dead',
      reason: 'permanent',
      parkedAt: `PARK#${POOL}#${KEY}`,
    });
    expect(await bench.park()).toMatchObject({ head: taskOf('A'), last: taskOf('A') });
  });

  test('later tasks of the key die at their claim, with that on record, and follow it in order', async () => {
    const bench = await parkedBench();
    expect(bench.effects).toEqual([]);
    expect(await bench.stepOf('B')).toMatchObject({
      status: 'dead',
      reason: 'key_parked',
      started: 0,
      parkNext: taskOf('C'),
      failure: { name: 'KeyParked', message: expect.stringContaining(taskOf('A')) },
    });
    expect(await bench.stepOf('A')).toMatchObject({ parkNext: taskOf('B') });
    expect(await bench.park()).toMatchObject({ head: taskOf('A'), last: taskOf('C') });
  });

  test('on its way to the dead letters each receive costs one read and no write', async () => {
    const calls: string[] = [];
    const bench = await orderedBench({
      store: (memory) =>
        unreliableStore(memory, { before: async ({ name, key }) => void calls.push(`${name} ${key}`) }),
    });
    await bench.enter('A', 'B');
    bench.failing.set('A', broken);
    await bench.drive('A');
    await bench.deliver('B');
    calls.length = 0;
    for (const name of ['A', 'B']) expect(await bench.deliver(name, { receiveCount: 2 })).toEqual(BURN);
    expect(calls).toEqual(['get STEP#Reserve', 'get STEP#Reserve']);
  });

  test('dies at the end of the line also where the last one has expired with its run', async () => {
    const bench = await orderedBench();
    await bench.enter('A', 'B', 'C');
    bench.failing.set('A', broken);
    for (const name of ['A', 'B']) expect(await bench.drive(name)).toBe('dead letter');
    await seed(bench.memory, stepItemKey(runOf('B'), 'Reserve') as never);
    expect(await bench.deliver('C')).toEqual(BURN);
    expect(await bench.stepOf('C')).toMatchObject({ status: 'dead', reason: 'key_parked' });
    expect(await bench.park()).toMatchObject({ head: taskOf('A'), last: taskOf('C') });
  });

  test('a copy of a task that was done before is acked, whoever is parked now', async () => {
    const bench = await parkedBench();
    await seed(bench.memory, { ...(await bench.stepOf('D')), status: 'done' } as never);
    expect(await bench.deliver('D')).toEqual(ACK);
    expect(bench.effects).toEqual([]);
    expect(await bench.park()).toMatchObject({ head: taskOf('A'), last: taskOf('C') });
  });

  test('a command whose step has expired goes to the dead letters without a place in the line', async () => {
    const hidden = stepItemKey(runOf('B'), 'Reserve').PK;
    const bench = await orderedBench({
      store: (memory) => ({
        ...memory,
        get: async (key) => (key.PK === hidden ? undefined : memory.get(key)),
      }),
    });
    await bench.enter('A', 'B');
    bench.failing.set('A', broken);
    expect(await bench.deliver('A')).toEqual(BURN);
    expect(await bench.deliver('B')).toEqual(BURN);
    expect(await bench.park()).toMatchObject({ head: taskOf('A'), last: taskOf('A') });
  });

  test('other keys flow meanwhile', async () => {
    const bench = await parkedBench();
    expect(await bench.deliver('D', {}, 'account-2')).toEqual(ACK);
    expect(bench.effects).toEqual(['D']);
  });

  test('a task between two tries parks nothing: its message holds the group back', async () => {
    const bench = await orderedBench();
    await bench.enter('A', 'B');
    bench.failing.set('A', () => new Error('try again'));
    expect(await bench.deliver('A')).toMatchObject({ ack: false });
    expect(await bench.park()).toBeUndefined();
  });
});

describe('a task that refuses', () => {
  const refuses = () => new PermanentError('overdrawn', { noEffect: true, refused: true });

  test('parks nothing: the next of its key goes on, and no copy of it comes back', async () => {
    const bench = await orderedBench();
    await bench.enter('A', 'B');
    bench.failing.set('A', refuses);
    expect(await bench.drive('A')).toBe('dead letter');
    expect(await bench.park()).toBeUndefined();
    expect(await bench.drive('B')).toBe('acked');
    bench.failing.clear();
    bench.clock.pass(MINUTE);
    const sent = { messageId: 'again-A', sentAt: bench.clock.now() };
    expect(await bench.drive('A', sent)).toBe('dead letter');
    expect(await bench.drive('A', { ...sent, replay: 1 })).toBe('dead letter');
    expect(bench.effects).toEqual(['B']);
  });

  test('as the first of a line lets the next one go', async () => {
    const bench = await parkedBench();
    bench.failing.set('A', refuses);
    const replay = (name: string) =>
      bench.drive(name, { replay: 1, messageId: `replay-${name}`, sentAt: bench.clock.now() });
    expect(await replay('A')).toBe('dead letter');
    bench.clock.pass(MINUTE);
    expect(await replay('B')).toBe('acked');
    expect(bench.effects).toEqual(['B']);
  });
});

describe('replay of a parked key', () => {
  test('in order heals all of it, each effect once and in order, and clears the line', async () => {
    const bench = await parkedBench();
    bench.failing.clear();
    for (const name of ['A', 'B', 'C'])
      expect(
        await bench.drive(name, { replay: 1, messageId: `replay-${name}`, sentAt: bench.clock.now() }),
      ).toBe('acked');
    expect(bench.effects).toEqual(['A', 'B', 'C']);
    expect((await bench.park())?.head).toBeUndefined();
    expect((await bench.park())?.expiresAt).toBe(Math.floor(bench.clock.now() / 1000) + 86_400);
    expect(await bench.drive('D')).toBe('acked');
  });

  test("by AWS's console heals too", async () => {
    const bench = await parkedBench();
    bench.failing.clear();
    for (const name of ['A', 'B', 'C'])
      expect(await bench.drive(name, { messageId: `moved-${name}`, sentAt: bench.clock.now() })).toBe(
        'acked',
      );
    expect(bench.effects).toEqual(['A', 'B', 'C']);
  });

  test('out of order changes nothing: who is not first goes back to the dead letters', async () => {
    const bench = await parkedBench();
    bench.failing.clear();
    expect(await bench.drive('B', { replay: 1, messageId: 'replay-B', sentAt: bench.clock.now() })).toBe(
      'dead letter',
    );
    expect(bench.effects).toEqual([]);
    expect(await bench.stepOf('B')).toMatchObject({ status: 'dead', reason: 'key_parked', deaths: 1 });
  });

  test('a new task does not overtake those that still wait after the first is done', async () => {
    const bench = await parkedBench();
    bench.failing.clear();
    const replay = (name: string) =>
      bench.drive(name, { replay: 1, messageId: `replay-${name}`, sentAt: bench.clock.now() });
    expect(await replay('A')).toBe('acked');
    expect(await bench.drive('D')).toBe('dead letter');
    expect(await bench.park()).toMatchObject({ head: taskOf('B'), last: taskOf('D') });
    for (const name of ['B', 'C', 'D']) {
      bench.clock.pass(MINUTE);
      expect(await replay(name)).toBe('acked');
    }
    expect(bench.effects).toEqual(['A', 'B', 'C', 'D']);
  });

  test('a first one that dies again keeps its place', async () => {
    const bench = await parkedBench();
    const sent = { replay: 1, messageId: 'replay-A', sentAt: bench.clock.now() };
    expect(await bench.drive('A', sent)).toBe('dead letter');
    expect(await bench.stepOf('A')).toMatchObject({ status: 'dead', deaths: 2, parkNext: taskOf('B') });
    expect(await bench.park()).toMatchObject({ head: taskOf('A'), last: taskOf('C') });
  });

  test('a task that a new execution sends again keeps its place behind the first', async () => {
    const bench = await parkedBench();
    const { notBefore: _n, reason: _r, failure: _f, ...step } = await bench.stepOf('B');
    await bench.memory.put({ item: { ...step, status: 'retrying', tries: 0 } as never, when: { all: [] } });
    expect(await bench.drive('B', { messageId: 'sent-again' })).toBe('dead letter');
    expect(await bench.stepOf('B')).toMatchObject({ reason: 'key_parked', deaths: 2, parkNext: taskOf('C') });
    expect(await bench.park()).toMatchObject({ head: taskOf('A'), last: taskOf('C') });
  });
});

describe('cancelled ones are skipped', () => {
  test('the first in line: the next goes on, what follows stays in order', async () => {
    const bench = await parkedBench();
    await bench.cancel('A');
    expect(await bench.drive('C', { replay: 1, messageId: 'replay-C', sentAt: bench.clock.now() })).toBe(
      'dead letter',
    );
    for (const name of ['B', 'C'])
      expect(
        await bench.drive(name, { replay: 2, messageId: `again-${name}`, sentAt: bench.clock.now() }),
      ).toBe('acked');
    expect(bench.effects).toEqual(['B', 'C']);
  });

  test('all of them: the line is over', async () => {
    const bench = await parkedBench();
    for (const name of ['A', 'B', 'C']) await bench.cancel(name);
    expect(await bench.deliver('D')).toEqual(ACK);
    expect((await bench.park())?.head).toBeUndefined();
  });

  test('a message of a cancelled one is acked, wherever it stands', async () => {
    const bench = await parkedBench();
    await bench.cancel('B');
    expect(await bench.deliver('B')).toEqual(ACK);
    expect(await bench.deliver('B', { receiveCount: 2 })).toEqual(ACK);
  });

  test('more of them than one claim clears away: busy, and done in a second', async () => {
    const names = [...'ABCDEFGHJKMNPQRSTVWXYZ'];
    const bench = await orderedBench();
    await bench.enter(...names);
    bench.failing.set('A', broken);
    for (const name of names.slice(0, -1)) await bench.drive(name);
    for (const name of names.slice(0, -1)) await bench.cancel(name);
    expect(await bench.deliver('Z')).toEqual(again(1));
    expect(await bench.deliver('Z', { receiveCount: 2 })).toEqual(ACK);
    expect(bench.effects).toEqual(['Z']);
  });

  test('a first one that has expired with its run ends the line', async () => {
    const bench = await parkedBench(['A', 'B', 'C', 'D']);
    const key = await bench.stepOf('A');
    const gone: Store = {
      ...bench.memory,
      get: async (asked) =>
        asked.SK === key.SK && asked.PK === key.PK ? undefined : bench.memory.get(asked),
    };
    const { lineOf } = await import('#core/parking.ts');
    expect(
      await lineOf(gone, POOL, { partitionkey: KEY, id: taskOf('D') } as never).place(bench.clock.now()),
    ).toBe('free');
    expect((await bench.park())?.head).toBeUndefined();
  });
});
