import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import type { TaskContext, TaskContract } from '#core/contract.ts';
import { PermanentError, RetryAfterError } from '#core/errors.ts';
import type { StepItem } from '#core/items.ts';
import type { Store } from '#core/store.ts';
import {
  aCommand,
  aDeadStep,
  aDoneStep,
  aStep,
  FIRST,
  MINUTE,
  RUN_ID,
  reserve,
  SECOND,
  T0,
} from '#test/examples.ts';
import { unreliableStore } from '#test/unreliable-store.ts';
import { ACK, again, BURN, FUNCTION_MS, workBench } from '#test/work-bench.ts';

const noAnswer = async () => {
  throw new Error('no answer');
};

describe('a command in time', () => {
  test('is claimed, handled and committed, and its message goes', async () => {
    const bench = await workBench({ step: aStep() });
    expect(await bench.deliver()).toEqual(ACK);
    expect(await bench.now()).toMatchObject({
      status: 'done',
      fence: 1,
      tries: 1,
      started: 1,
      result: '{"reservationId":"r-1","customer":"Ada"}',
      // Only what the contract exposes is for states to see.
      exposed: '{"reservationId":"r-1"}',
      doneAt: bench.clock.now(),
      outcomeExecution: FIRST,
      met: new Set([`${FIRST}.0`]),
      outbox: { type: 'inventory.stock.reserved' },
    });
  });

  test('costs two calls of the store: claim and commit', async () => {
    const calls: string[] = [];
    const counted = (memory: Store) =>
      unreliableStore(memory, { before: ({ name }) => void calls.push(name) as undefined });
    const bench = await workBench({ step: aStep(), store: counted });
    await bench.deliver();
    expect(calls).toEqual(['update', 'update']);
  });

  test('its handler gets what it needs, and the same key for every try', async () => {
    const bench = await workBench({ step: aStep({ tries: 1, fence: 1 }) });
    const { signal } = new AbortController();
    await bench.deliver({ signal });
    expect(bench.calls).toHaveLength(1);
    const { input, context } = bench.calls[0] as { input: unknown; context: TaskContext };
    expect(input).toEqual({ orderId: 'o-1' });
    expect(context).toMatchObject({
      taskId: `${RUN_ID}/Reserve/0`,
      idempotencyKey: `${RUN_ID}/Reserve/0`,
      runId: RUN_ID,
      tenant: 'acme',
      correlationId: 'corr-1',
      attempt: 2,
    });
    expect(context.signal).toBe(signal);
    expect(context.remainingMs()).toBe(FUNCTION_MS);
    bench.clock.pass(10 * SECOND);
    expect(context.remainingMs()).toBe(20 * SECOND);
  });

  test('holds its lease until the end of the function', async () => {
    const leases: (number | undefined)[] = [];
    const bench = await workBench({
      step: aStep(),
      handler: async () => {
        leases.push((await bench.now()).leaseUntil);
        return { reservationId: 'r-1' };
      },
    });
    const deadlineAt = bench.clock.now() + FUNCTION_MS;
    await bench.deliver({ deadlineAt });
    expect(leases).toEqual([deadlineAt]);
  });

  test('its data may be behind a pointer, and its result may go there', async () => {
    const bench = await workBench({
      step: aStep(),
      handler: async () => ({ reservationId: 'x'.repeat(8000), customer: 'y'.repeat(9000) }),
    });
    const { data: _, ...rest } = aCommand();
    const dataref = await bench.payloads.put('acme/run/command.json', '{"orderId":"o-9"}');
    expect(await bench.deliver({ command: { ...rest, dataref } })).toEqual(ACK);
    expect(bench.calls[0]?.input).toEqual({ orderId: 'o-9' });
    const { result, resultRef } = await bench.now();
    expect(result).toBeUndefined();
    expect(resultRef).toContain(`acme/${RUN_ID}/Reserve-1.json`);
    expect(JSON.parse(await bench.payloads.get(resultRef ?? '', 'acme'))).toEqual({
      reservationId: 'x'.repeat(8000),
      customer: 'y'.repeat(9000),
    });
  });

  test('no log line shows input, result or token', async () => {
    const bench = await workBench({ step: aStep() });
    await bench.deliver();
    expect(bench.log.lines.length).toBeGreaterThan(0);
    expect(JSON.stringify(bench.log.lines)).not.toMatch(/o-1|reservationId|Ada|token-1/);
  });
});

describe('a result', () => {
  const done = async (output: TaskContract['output'], expose: string[], value: unknown) => {
    const contract = { ...reserve, output, expose };
    const bench = await workBench({ step: aStep(), contract, handler: async () => value });
    expect(await bench.deliver()).toEqual(ACK);
    const { result, exposed } = await bench.now();
    return { result, exposed };
  };
  const maybe = z.object({ kept: z.string(), left: z.optional(z.string()) });

  test('that is nothing is null', async () => {
    expect(await done(z.undefined(), [], undefined)).toEqual({ result: 'null' });
    expect(await done(z.null(), [], null)).toEqual({ result: 'null' });
  });

  test('of which nothing is exposed shows states nothing', async () => {
    expect(await done(maybe, [], { kept: 'k' })).toEqual({ result: '{"kept":"k"}' });
  });

  test('shows states the exposed fields that it has', async () => {
    expect(await done(maybe, ['kept', 'left'], { kept: 'k' })).toMatchObject({ exposed: '{"kept":"k"}' });
    expect(await done(z.nullable(maybe), ['kept'], null)).toEqual({ result: 'null', exposed: '{}' });
  });

  test('is what its contract knows of it', async () => {
    expect(await done(maybe, [], { kept: 'k', more: 'm' })).toEqual({ result: '{"kept":"k"}' });
  });
});

describe('what is no work burns on to the dead-letter queue, with a reason in the log', () => {
  test.each([
    ['a message that is no command', { body: 'hello' }, 'message is no command'],
    ['a type without handler', { command: aCommand({ type: 'a.b.c' }) }, 'no handler for this command type'],
    ['a command without a step', {}, 'no step on record for this command'],
    [
      'a late command without a step',
      { command: aCommand({ deadline: new Date(T0).toISOString() }) },
      'no step on record for this command',
    ],
  ])('%s', async (_what, delivery, message) => {
    const bench = await workBench({});
    expect(await bench.deliver(delivery)).toEqual(BURN);
    expect(bench.calls).toEqual([]);
    expect(bench.log.lines).toContainEqual(expect.objectContaining({ level: 'error', message }));
  });
});

test('known noise goes, and is no error', async () => {
  const bench = await workBench({});
  expect(await bench.deliver({ body: '{"Service":"Amazon S3","Event":"s3:TestEvent"}' })).toEqual(ACK);
  expect(bench.log.lines).toMatchObject([{ level: 'info', message: 'message is known noise' }]);
});

describe('a copy of a task', () => {
  test.each<[string, StepItem]>([
    ['that is done', aDoneStep()],
    ['that was cancelled', aStep({ status: 'cancelled' })],
    ['that is surplus', aStep({ status: 'surplus' })],
  ])('%s goes without an effect', async (_what, step) => {
    for (const receiveCount of [1, 2]) {
      const bench = await workBench({ step });
      expect(await bench.deliver({ receiveCount })).toEqual(ACK);
      expect(bench.calls).toEqual([]);
      expect(await bench.now()).toEqual(step);
    }
  });

  test('that another worker holds comes back after its lease', async () => {
    const step = aStep({
      status: 'claimed',
      owner: 'other',
      fence: 1,
      tries: 1,
      started: 1,
      leaseUntil: T0 + 11 * SECOND,
    });
    const bench = await workBench({ step });
    // 10 s of the lease, 15 s of grace, and what it takes to be past both.
    expect(await bench.deliver()).toEqual(again(26));
    expect(await bench.now()).toEqual(step);
    bench.clock.pass(26 * SECOND);
    expect(await bench.deliver({ receiveCount: 2 })).toEqual(ACK);
    expect(await bench.now()).toMatchObject({ status: 'done', fence: 2, tries: 2, started: 2 });
  });

  test('that waits for its next try comes back then', async () => {
    const bench = await workBench({ step: aStep({ status: 'retrying', notBefore: T0 + 31 * SECOND }) });
    expect(await bench.deliver({ receiveCount: 2 })).toEqual(again(30));
    expect(bench.calls).toEqual([]);
  });

  test('with other data than the one that was claimed is told, and has no effect', async () => {
    const bench = await workBench({ step: aStep() });
    await bench.deliver();
    const other = aCommand({ data: { orderId: 'o-2' } });
    expect(await bench.deliver({ command: other, messageId: 'message-2' })).toEqual(ACK);
    expect(bench.calls).toHaveLength(1);
    expect(bench.log.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', message: 'copy of a task with other data' }),
    );
    expect(JSON.stringify(bench.log.lines)).not.toContain('o-2');
  });

  test('delivered twice at the same time has one effect', async () => {
    const bench = await workBench({ step: aStep() });
    const both = await Promise.all([bench.deliver(), bench.deliver({ messageId: 'message-2' })]);
    expect(both).toContainEqual(ACK);
    expect(bench.calls).toHaveLength(1);
    expect(await bench.now()).toMatchObject({ status: 'done', fence: 1 });
  });

  test('from the second receive on is looked at before it is claimed: one read', async () => {
    const calls: string[] = [];
    const counted = (memory: Store) =>
      unreliableStore(memory, { before: ({ name }) => void calls.push(name) as undefined });
    const bench = await workBench({ step: aDeadStep(), store: counted });
    expect(await bench.deliver({ receiveCount: 2 })).toEqual(BURN);
    expect(calls).toEqual(['get']);
  });
});

describe('a failed try', () => {
  test('comes back after a jittered wait, the same for the queue and for the item', async () => {
    const bench = await workBench({ step: aStep(), handler: noAnswer, random: 0.75 });
    // 0.75 of 2 s, in whole seconds.
    expect(await bench.deliver()).toEqual(again(2));
    const step = await bench.now();
    expect(step).toMatchObject({ status: 'retrying', tries: 1, notBefore: bench.clock.now() + 2 * SECOND });
    expect(step.attempts).toMatchObject([{ fence: 1, name: 'Error', message: 'no answer', worker: 'v1' }]);
    bench.clock.pass(2 * SECOND);
    // 0.75 of 4 s.
    expect(await bench.deliver({ receiveCount: 2 })).toEqual(again(3));
    expect(await bench.now()).toMatchObject({ tries: 2, fence: 2 });
  });

  test('of the last kind kills the task at once, and the message burns', async () => {
    const bench = await workBench({ step: aStep({ tries: 2, fence: 2 }), handler: noAnswer });
    expect(await bench.deliver()).toEqual(BURN);
    expect(await bench.now()).toMatchObject({
      status: 'dead',
      reason: 'exhausted',
      tries: 3,
      deadMessageId: 'message-1',
      failure: { class: 'retryable', message: 'no answer' },
      outbox: { type: 'edow.task.failed' },
    });
    expect(await bench.deliver({ receiveCount: 4 })).toEqual(BURN);
    expect(bench.calls).toHaveLength(1);
  });

  test('for good kills the task on its first try', async () => {
    const refuse = async () => {
      throw new PermanentError('declined', { refused: true });
    };
    const bench = await workBench({ step: aStep(), handler: refuse });
    expect(await bench.deliver()).toEqual(BURN);
    expect(await bench.now()).toMatchObject({
      status: 'dead',
      reason: 'permanent',
      tries: 1,
      failure: { refused: true },
    });
  });

  test('never runs the handler more often than the limit, however many copies there are', async () => {
    const bench = await workBench({ step: aStep(), handler: noAnswer });
    for (let receiveCount = 1; receiveCount <= 12; receiveCount += 1)
      for (const messageId of ['message-1', 'message-2']) {
        await bench.deliver({ receiveCount, messageId });
        bench.clock.pass(5 * SECOND);
      }
    expect(bench.calls).toHaveLength(3);
    expect(await bench.now()).toMatchObject({ status: 'dead', reason: 'exhausted', started: 3, deaths: 1 });
  });

  test('on the last receive of its message starves the task: no message would come back for another try', async () => {
    const waiting = await workBench({ step: aStep(), handler: noAnswer });
    expect(await waiting.deliver({ receiveCount: 17 })).toEqual(again(1));
    const bench = await workBench({ step: aStep(), handler: noAnswer });
    expect(await bench.deliver({ receiveCount: 18 })).toEqual(BURN);
    expect(await bench.now()).toMatchObject({
      status: 'dead',
      reason: 'starved',
      tries: 1,
      failure: { class: 'retryable', message: 'no answer' },
    });
    const spent = await workBench({ step: aStep({ tries: 2, fence: 2 }), handler: noAnswer });
    expect(await spent.deliver({ receiveCount: 18 })).toEqual(BURN);
    expect(await spent.now()).toMatchObject({ status: 'dead', reason: 'exhausted' });
  });

  test('whose worker was lost on its last try is exhausted by the next copy', async () => {
    const lost = aStep({
      status: 'claimed',
      owner: 'lost',
      fence: 3,
      tries: 3,
      started: 3,
      leaseUntil: T0 - MINUTE,
    });
    for (const receiveCount of [1, 2]) {
      const bench = await workBench({ step: lost });
      expect(await bench.deliver({ receiveCount })).toEqual(BURN);
      expect(bench.calls).toEqual([]);
      expect(await bench.now()).toMatchObject({
        status: 'dead',
        reason: 'exhausted',
        failure: { name: 'WorkerLost' },
      });
    }
  });
});

describe('a deferral', () => {
  const busy = (seconds: number) => async () => {
    throw new RetryAfterError('busy', seconds, { noEffect: true });
  };

  test('waits as long as asked, and is no try', async () => {
    const bench = await workBench({ step: aStep(), handler: busy(90) });
    expect(await bench.deliver()).toEqual(again(90));
    expect(await bench.now()).toMatchObject({ status: 'retrying', tries: 0, started: 1, clean: 1 });
  });

  test('is paced, so that the waits left reach the deadline', async () => {
    // 599 s are left, and 11 waits.
    const bench = await workBench({ step: aStep(), handler: busy(1) });
    expect(await bench.deliver()).toEqual(again(Math.ceil(599 / 11)));
  });

  test('is paced by the receives left where these are fewer', async () => {
    // 4 of 18 receives are left: 3 tries + 15.
    const bench = await workBench({ step: aStep(), handler: busy(1) });
    expect(await bench.deliver({ receiveCount: 14 })).toEqual(again(Math.ceil(599 / 4)));
  });

  test('after eleven in a round starves the task: a downstream is asked twelve times', async () => {
    const bench = await workBench({ step: aStep({ deferred: 10 }), handler: busy(1) });
    expect(await bench.deliver()).toEqual(again(599));
    expect(await bench.now()).toMatchObject({ status: 'retrying', deferred: 11 });
    const last = await workBench({ step: aStep({ deferred: 11 }), handler: busy(1) });
    expect(await last.deliver()).toEqual(BURN);
    expect(await last.now()).toMatchObject({ status: 'dead', reason: 'starved' });
  });

  test('a wait on the last receive starves the task too: with its message the last copy would be gone', async () => {
    const waiting = aStep({ status: 'retrying', fence: 1, tries: 1, notBefore: T0 + MINUTE });
    const bench = await workBench({ step: waiting });
    expect(await bench.deliver({ receiveCount: 17 })).toEqual(again(59));
    expect(await bench.deliver({ receiveCount: 18 })).toEqual(BURN);
    expect(await bench.now()).toMatchObject({
      status: 'dead',
      reason: 'starved',
      failure: { name: 'Starved', class: 'throttled' },
    });
    expect(bench.calls).toEqual([]);
  });

  test('and says what the last try met', async () => {
    const attempts = [
      {
        fence: 1,
        startedAt: T0,
        endedAt: T0,
        class: 'throttled' as const,
        name: 'RetryAfterError',
        message: 'stock is busy',
        worker: 'v1',
      },
    ];
    const waiting = aStep({ status: 'retrying', fence: 1, tries: 1, notBefore: T0 + MINUTE, attempts });
    const bench = await workBench({ step: waiting });
    expect(await bench.deliver({ receiveCount: 18 })).toEqual(BURN);
    expect(await bench.now()).toMatchObject({
      reason: 'starved',
      failure: { name: 'RetryAfterError', message: 'stock is busy' },
    });
  });

  test('a wait for a live holder on the last receive starves nobody: the holder has a message of its own', async () => {
    const held = aStep({ status: 'claimed', owner: 'another', fence: 1, tries: 1, leaseUntil: T0 + MINUTE });
    const bench = await workBench({ step: held });
    expect(await bench.deliver({ receiveCount: 18 })).toMatchObject({ ack: false });
    expect(await bench.now()).toEqual(held);
  });

  test('on the last receive starves the task, with that on record', async () => {
    const bench = await workBench({ step: aStep(), handler: busy(1) });
    expect(await bench.deliver({ receiveCount: 18 })).toEqual(BURN);
    expect(await bench.now()).toMatchObject({
      status: 'dead',
      reason: 'starved',
      failure: { class: 'throttled' },
    });
  });

  test('never exhausts the tries, however often it comes', async () => {
    const bench = await workBench({ step: aStep(), handler: busy(1) });
    for (let receiveCount = 1; receiveCount <= 9; receiveCount += 1) {
      expect(await bench.deliver({ receiveCount })).toMatchObject({ ack: false });
      bench.clock.pass(MINUTE);
    }
    expect(await bench.now()).toMatchObject({ status: 'retrying', tries: 0, started: 9, clean: 9 });
  });
});

describe('a contract that does not hold', () => {
  test.each<[string, object, () => Promise<unknown>, string, number]>([
    [
      'input that does not fit',
      { data: { orderId: 7 } },
      async () => ({}),
      'the input does not fit inventory.stock.reserve version 2: /orderId',
      1,
    ],
    [
      'input that is nothing at all',
      { data: null },
      async () => ({}),
      'the input does not fit inventory.stock.reserve version 2: /',
      1,
    ],
    [
      'a result that does not fit',
      {},
      async () => ({ reservationId: 7 }),
      "the handler's result does not fit inventory.stock.reserve version 2: /reservationId",
      0,
    ],
    [
      'too much exposed',
      {},
      async () => ({ reservationId: 'x'.repeat(9000) }),
      'the exposed fields of inventory.stock.reserve hold more than 8192 bytes',
      0,
    ],
  ])('%s is permanent', async (_what, changes, handler, message, clean) => {
    const bench = await workBench({ step: aStep(), handler });
    expect(await bench.deliver({ command: aCommand(changes) })).toEqual(BURN);
    const step = await bench.now();
    expect(step).toMatchObject({ status: 'dead', reason: 'permanent', clean });
    expect(step.failure?.message).toContain(message);
  });

  test('a payload that is gone is permanent', async () => {
    const bench = await workBench({ step: aStep() });
    const { data: _, ...rest } = aCommand();
    const dataref = await bench.payloads.put('acme/run/command.json', '{"orderId":"o-9"}');
    bench.payloads.objects.clear();
    expect(await bench.deliver({ command: { ...rest, dataref } })).toEqual(BURN);
    expect(await bench.now()).toMatchObject({ reason: 'permanent', failure: { name: 'PayloadGone' } });
    expect(bench.calls).toEqual([]);
  });
});
