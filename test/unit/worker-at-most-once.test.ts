/** Tasks whose handler is never called again where it may have had its effect. */
import { describe, expect, test } from 'vitest';
import type { TaskContract } from '#core/contract.ts';
import {
  ContractError,
  PermanentError,
  PortUnavailable,
  RetryAfterError,
  TaskError,
  UnknownOutcomeError,
} from '#core/errors.ts';
import { LEASE_GRACE_MS } from '#core/retry.ts';
import { aCommand, aDeadStep, aStep, MINUTE, reserve, SECOND } from '#test/examples.ts';
import { unreliableStore } from '#test/unreliable-store.ts';
import { ACK, again, BURN, FUNCTION_MS, workBench } from '#test/work-bench.ts';

const once: TaskContract = { ...reserve, expose: [], mode: 'atMostOnce' };

const throwing = (error: unknown) => async () => {
  throw error;
};

/** A task whose worker never came back; its lease ended as it was entered. */
const leftBehind = aStep({
  status: 'claimed',
  fence: 1,
  tries: 1,
  started: 1,
  owner: 'gone',
  leaseUntil: aStep().entered,
  atMostOnce: true,
});

/** A worker that took the task and never came back. */
async function lost(contract: TaskContract = once) {
  const bench = await workBench({
    step: aStep(),
    contract,
    store: (memory) =>
      unreliableStore(memory, {
        before: async ({ name, number }) => {
          if (name === 'update' && (number === 2 || number === 3))
            throw new PortUnavailable('the process was killed');
        },
      }),
  });
  expect(await bench.deliver()).toEqual(again(46));
  return bench;
}

describe('a task of mode atMostOnce', () => {
  test('that is done is acked like any other', async () => {
    const bench = await workBench({ step: aStep(), contract: once });
    expect(await bench.deliver()).toEqual(ACK);
    expect(await bench.now()).toMatchObject({ status: 'done', atMostOnce: true });
  });

  test('whose worker was lost is not handled again: it waits for a person, its message goes to the dead letters', async () => {
    const bench = await workBench({ step: leftBehind, contract: once });
    bench.clock.pass(LEASE_GRACE_MS);
    expect(await bench.deliver({ receiveCount: 2 })).toEqual(BURN);
    expect(bench.calls).toEqual([]);
    expect(await bench.now()).toMatchObject({
      status: 'dead',
      reason: 'unknown',
      failure: { class: 'unknown-outcome', name: 'WorkerLost' },
      deaths: 1,
    });
  });

  test('neither by a first receive, which does not look before it claims', async () => {
    const bench = await workBench({ step: leftBehind, contract: once });
    bench.clock.pass(LEASE_GRACE_MS);
    expect(await bench.deliver({ messageId: 'another' })).toEqual(BURN);
    expect(bench.calls).toEqual([]);
    expect(await bench.now()).toMatchObject({ reason: 'unknown' });
  });

  test('whose lease still runs is left alone', async () => {
    const step = aStep({
      status: 'claimed',
      fence: 1,
      tries: 1,
      owner: 'busy',
      leaseUntil: aStep().entered + MINUTE,
      atMostOnce: true,
    });
    const bench = await workBench({ step, contract: once });
    expect(await bench.deliver({ receiveCount: 2 })).toEqual(again(75));
    expect(await bench.now()).toMatchObject({ status: 'claimed', owner: 'busy' });
  });

  test.each([
    ['any error', new Error('socket hang up')],
    ['an outcome that the handler itself does not know', new UnknownOutcomeError('no answer')],
    ['no error at all', 'thrown text'],
  ])('that ends with %s is not tried again', async (_name, error) => {
    const bench = await workBench({ step: aStep(), contract: once, handler: throwing(error) });
    expect(await bench.deliver()).toEqual(BURN);
    expect(await bench.now()).toMatchObject({ status: 'dead', reason: 'unknown', tries: 1 });
  });

  test('whose result does not fit is unknown, not permanent: a replay would repeat the effect', async () => {
    const bench = await workBench({ step: aStep(), contract: once, handler: async () => ({ wrong: true }) });
    expect(await bench.deliver()).toEqual(BURN);
    expect(await bench.now()).toMatchObject({
      reason: 'unknown',
      failure: { class: 'unknown-outcome', name: 'UnknownOutcomeError' },
    });
  });

  test('whose result is longer than the bucket takes is unknown as well', async () => {
    const handler = async () => ({ reservationId: 'r'.repeat(9000), customer: 'Ada' });
    const bench = await workBench({ step: aStep(), contract: once, handler });
    bench.payloads.put = async () => {
      throw new ContractError('a payload of 5,000,000 bytes');
    };
    expect(await bench.deliver()).toEqual(BURN);
    expect(await bench.now()).toMatchObject({ reason: 'unknown', failure: { name: 'UnknownOutcomeError' } });
  });

  test.each([
    ['certainly had no effect', new TaskError('busy', 'not begun', { noEffect: true }), 'retrying'],
    ['was put off by the downstream', new RetryAfterError('later', 5), 'retrying'],
  ])('whose try %s is tried again', async (_name, error, status) => {
    const bench = await workBench({ step: aStep(), contract: once, handler: throwing(error) });
    expect(await bench.deliver()).toMatchObject({ ack: false });
    expect(await bench.now()).toMatchObject({ status });
  });

  test('whose handler knows that it failed for good is permanent', async () => {
    const bench = await workBench({
      step: aStep(),
      contract: once,
      handler: throwing(new PermanentError('no')),
    });
    expect(await bench.deliver()).toEqual(BURN);
    expect(await bench.now()).toMatchObject({ reason: 'permanent' });
  });

  test('whose input could not be read has not begun: it is tried again', async () => {
    const bench = await workBench({ step: aStep(), contract: once });
    bench.payloads.get = async () => {
      throw new PortUnavailable('the bucket does not answer');
    };
    const { data: _data, ...command } = aCommand();
    expect(await bench.deliver({ command: { ...command, dataref: 's3://payloads/x#1' } })).toEqual(again(1));
    expect(await bench.now()).toMatchObject({ status: 'retrying', clean: 1 });
  });

  test('is not revived by a redrive or a replay: an unknown outcome needs a word', async () => {
    const step = aDeadStep({ reason: 'unknown', atMostOnce: true });
    const bench = await workBench({ step, contract: once });
    bench.clock.pass(10 * MINUTE);
    const moved = { messageId: 'moved', sentAt: bench.clock.now() };
    expect(await bench.deliver(moved)).toEqual(BURN);
    expect(await bench.deliver({ ...moved, replay: 1 })).toEqual(BURN);
    expect(bench.calls).toEqual([]);
    expect(await bench.now()).toMatchObject({ status: 'dead', reason: 'unknown' });
  });

  test('that could not be committed is unknown in the end, though its handler returned', async () => {
    const bench = await lost();
    expect(bench.calls).toHaveLength(1);
    bench.clock.pass(FUNCTION_MS + LEASE_GRACE_MS + SECOND);
    await bench.deliver({ receiveCount: 2 });
    expect(bench.calls).toHaveLength(1);
    expect(await bench.now()).toMatchObject({ status: 'dead', reason: 'unknown' });
  });
});

test('a normal task in the same trouble is handled again under the same key', async () => {
  const bench = await lost(reserve);
  bench.clock.pass(FUNCTION_MS + LEASE_GRACE_MS + SECOND);
  expect(await bench.deliver({ receiveCount: 2 })).toEqual(ACK);
  expect(bench.calls.map(({ context }) => context.idempotencyKey)).toEqual([aCommand().id, aCommand().id]);
});

test('a normal task whose outcome its handler does not know is tried again', async () => {
  const bench = await workBench({ step: aStep(), handler: throwing(new UnknownOutcomeError('no answer')) });
  expect(await bench.deliver()).toEqual(again(1));
  expect(await bench.now()).toMatchObject({ status: 'retrying', tries: 1 });
});
