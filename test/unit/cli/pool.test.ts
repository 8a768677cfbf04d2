import { describe, expect, test } from 'vitest';
import { drain, type PoolPorts, settled } from '#cli/pools.ts';
import { fakeConnection } from './fake-connection.ts';

const pool = { name: 'shipping', functionName: 'fn-shipping', queueArn: 'arn:q/shipping', queueUrl: 'q' };

/** States and depths come in their order, the last one again and again; only sleeping moves the clock. */
function scene(states: string[], inFlight: number[] = [0]) {
  let now = 0;
  const turned: boolean[] = [];
  const next = <T>(list: T[]): T => (list.length > 1 ? list.shift() : list[0]) as T;
  const ports: PoolPorts = {
    feeds: {
      state: async () => next(states),
      turn: async (_, __, on) => void turned.push(on),
    },
    depths: async () => ({ waiting: 3, inFlight: next(inFlight) }),
    now: () => now,
    sleep: async (milliseconds) => {
      now += milliseconds;
    },
  };
  return { ports, turned, now: () => now };
}

describe('waiting for a switch', () => {
  test('until it is as asked', async () => {
    const { ports, now } = scene(['Enabled', 'Disabling', 'Disabled', 'Enabled']);
    expect(await settled(ports, pool, false, 60_000)).toBe('Disabled');
    expect(now()).toBe(2_000);
  });

  test('no longer than allowed', async () => {
    const { ports, now } = scene(['Disabling']);
    expect(await settled(ports, pool, false, 5_000)).toBe('Disabling');
    expect(now()).toBe(5_000);
  });
});

describe('a drain', () => {
  test('is over when two looks in a row saw nothing in flight', async () => {
    const said: string[] = [];
    const { ports, turned } = scene(['Disabling', 'Disabling', 'Disabled'], [2, 0, 1, 0, 0]);
    expect(await drain(ports, pool, 60_000, (line) => said.push(line))).toEqual({
      finished: true,
      state: 'Disabled',
      waiting: 3,
      inFlight: 0,
    });
    expect(turned).toEqual([false]);
    expect(said[0]).toBe('shipping: Disabling, 2 in flight, 3 waiting');
    expect(said).toHaveLength(4);
  });

  test('that takes too long says what is left', async () => {
    const { ports } = scene(['Disabled'], [4]);
    expect(await drain(ports, pool, 3_000, () => {})).toMatchObject({ finished: false, inFlight: 4 });
  });

  test('does not trust a quiet queue whose pollers are still on', async () => {
    const { ports } = scene(['Disabling']);
    expect(await drain(ports, pool, 3_000, () => {})).toMatchObject({ finished: false, state: 'Disabling' });
  });
});

describe('edow pool', () => {
  test('pause and resume turn what feeds the pool, on record; status shows it', async () => {
    const runs = async () => ({ runs: [], staleness: '' });
    const { edow, feeds } = fakeConnection({ api: { runs } });
    expect((await edow(['pool', 'pause', 'shipping'])).out).toBe(
      'Pool shipping is paused (0 waiting, 0 in flight). Resume it: npx edow pool resume shipping\n',
    );
    expect(feeds.get('arn:q/shipping')).toBe('Disabled');
    const status = await edow(['status', '--state-dir', '/nowhere']);
    expect(status.out).toMatch(/shipping +0 +0 +0 +paused/);
    expect(status.out).toContain('shipping is paused: npx edow pool resume shipping');
    const { out } = await edow(['pool', 'resume', 'shipping', '--json']);
    expect(JSON.parse(out)).toEqual({
      pool: 'shipping',
      finished: true,
      state: 'Enabled',
      waiting: 0,
      inFlight: 0,
    });
    expect((await edow(['status', '--state-dir', '/nowhere'])).out).not.toContain('paused');
    const { entries } = JSON.parse((await edow(['audit', '--json'])).out);
    expect(entries).toMatchObject([
      { action: 'pool pause', arguments: { pool: 'shipping' }, outcome: 'done' },
      { action: 'pool resume', outcome: 'done' },
    ]);
  });

  test('a drain whose time is up: exit code 4, stopped on record, the pool stays paused', async () => {
    const depths = async () => ({ waiting: 0, inFlight: 1 });
    const { edow, feeds } = fakeConnection({ connection: { depths } });
    const { exitCode, out } = await edow(['pool', 'drain', 'shipping', '--timeout', '1']);
    expect(exitCode).toBe(4);
    expect(out).toContain('is Disabled, but not drained: 0 waiting, 1 in flight');
    expect(feeds.get('arn:q/shipping')).toBe('Disabled');
    const { entries } = JSON.parse((await edow(['audit', '--json'])).out);
    expect(entries).toMatchObject([
      { action: 'pool drain', outcome: 'stopped', why: 'the time was up', counts: { inFlight: 1 } },
    ]);
  });

  test('status is shown without the permission to see mappings, too', async () => {
    const runs = async () => ({ runs: [], staleness: '' });
    const state = () => Promise.reject(new Error('denied'));
    const { edow } = fakeConnection({
      api: { runs },
      connection: { feeds: { state, turn: async () => {} } },
    });
    const { exitCode, out } = await edow(['status', '--state-dir', '/nowhere']);
    expect(exitCode).toBe(0);
    expect(out).toMatch(/shipping +0 +0 +0 +unknown/);
  });

  test('subscribers are no pools', async () => {
    const { exitCode, err } = await fakeConnection().edow(['pool', 'pause', 'project']);
    expect(exitCode).toBe(2);
    expect(err).toContain('there is no worker pool "project"; there are: shipping');
  });
});
