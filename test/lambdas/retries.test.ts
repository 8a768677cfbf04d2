/**
 * Field cases of waits and tries, run to the end on a queue in virtual time: H14 against a downstream over HTTP (its
 * template part, no retry on invoke steps, is in test/infra/workflow.test.ts) and H25. Delays asked by callers and
 * ordered pools (H25) are not built.
 */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { httpDownstream } from '#adapters/downstream-http.ts';
import { handle } from '#core/contract.ts';
import { RetryAfterError } from '#core/errors.ts';
import { stepItemKey } from '#core/items.ts';
import { maxReceiveCount } from '#core/retry.ts';
import type { Store } from '#core/store.ts';
import { aStep, reserve, seed } from '#test/examples.ts';
import {
  bodyOf,
  countingPool,
  enteredTask,
  lambdaContext,
  pass,
  poolOnQueue,
  printed,
  runIdOf,
  sqsRecord,
  virtualTime,
} from '#test/pool-fixtures.ts';

beforeEach(virtualTime);

const stepOf = (store: Store) => store.get(stepItemKey(runIdOf(1), 'Reserve'));

/** The five tries that a contract gives by default. */
const TRIES = 5;
const patient = { ...reserve, retry: { ...reserve.retry, tries: TRIES } };

interface Asked {
  readonly at: number;
  readonly key: IncomingHttpHeaders[string];
}

/** A downstream that always gives one answer, and counts outside of our books. Times are those of the virtual clock. */
async function stubborn(status: number, headers: Record<string, string> = {}) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    asked.push({ at: Date.now(), key: request.headers['idempotency-key'] });
    request.resume();
    response.writeHead(status, headers).end('{}');
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const downstream = httpDownstream(`http://127.0.0.1:${port}`);
  const task = handle(patient, async ({ orderId }, { idempotencyKey, signal }) => {
    const answer = await downstream.call({
      operation: 'reservations',
      idempotencyKey,
      body: { orderId },
      signal,
    });
    return { reservationId: String(answer['id']) };
  });
  return { asked, task };
}

/** Runs one task to its end in the dead-letter queue. Gaps between calls in seconds. */
async function runToTheEnd(status: number, headers?: Record<string, string>) {
  printed();
  const { asked, task } = await stubborn(status, headers);
  const pool = poolOnQueue([task], { maxReceives: maxReceiveCount(TRIES) });
  pool.queue.send(bodyOf(await enteredTask(pool, 1, { trylimit: TRIES })));
  await pool.queue.drain(pool.handler);
  expect(pool.queue.dead).toHaveLength(1);
  const gaps = asked.slice(1).map(({ at }, n) => (at - (asked[n]?.at ?? 0)) / 1000);
  return { asked, gaps, step: await stepOf(pool.store), hidden: pool.queue.hidden };
}

describe('H14 retry layers multiply each other', () => {
  test('H14 (a) 429 with Retry-After 7: at most 12 calls, never sooner than asked, and dead with a reason', async () => {
    const { asked, gaps, step } = await runToTheEnd(429, { 'retry-after': '7' });
    expect(asked.length).toBeGreaterThan(TRIES);
    expect(asked.length).toBeLessThanOrEqual(12);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(7);
    expect(step).toMatchObject({ status: 'dead', reason: 'expired' });
    expect(new Set(asked.map(({ key }) => key))).toEqual(new Set([`${runIdOf(1)}/Reserve/0`]));
  });

  test('H14 503 with Retry-After is a request to wait as well', async () => {
    const { asked, gaps } = await runToTheEnd(503, { 'retry-after': '7' });
    expect(asked.length).toBeLessThanOrEqual(12);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(7);
  });

  test.each([500, 502, 503, 504, 408])(
    'H14 (b) %i: as many calls as the contract has tries; the gaps grow and vary',
    async (status) => {
      const runs: Awaited<ReturnType<typeof runToTheEnd>>[] = [];
      for (let n = 0; n < 6; n += 1) runs.push(await runToTheEnd(status));
      for (const { asked, step, gaps } of runs) {
        expect(asked).toHaveLength(TRIES);
        expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1);
        expect(step).toMatchObject({ status: 'dead', reason: 'exhausted', tries: TRIES });
      }
      // Full jitter: below a ceiling that doubles, and not the same twice.
      for (const { gaps } of runs)
        for (const [n, gap] of gaps.entries()) expect(gap).toBeLessThanOrEqual(2 ** (n + 1) + 1);
      const longest = (n: number): number => Math.max(...runs.map(({ gaps }) => gaps[n] ?? 0));
      expect(longest(TRIES - 2)).toBeGreaterThan(2 * longest(0));
      expect(new Set(runs.flatMap(({ gaps }) => gaps)).size).toBeGreaterThan(3);
    },
  );

  test.each([400, 401, 403, 404, 409, 410, 422])(
    'H14 (c) %i is final: exactly one call, however often the message is received',
    async (status) => {
      const { asked, step, hidden } = await runToTheEnd(status);
      expect(asked).toHaveLength(1);
      expect(step).toMatchObject({ status: 'dead', reason: 'permanent' });
      // On its way to the dead-letter queue at once.
      expect(new Set(hidden)).toEqual(new Set([0]));
    },
  );

  test('H14 the calls of a mixed fate stay within tries and waits together', async () => {
    printed();
    let calls = 0;
    const mixed = handle(patient, async () => {
      calls += 1;
      throw calls % 2 === 0 ? new RetryAfterError('busy', 1) : new Error('down');
    });
    const pool = poolOnQueue([mixed], { maxReceives: maxReceiveCount(TRIES) });
    pool.queue.send(bodyOf(await enteredTask(pool, 1, { trylimit: TRIES })));
    await pool.queue.drain(pool.handler);
    expect(calls).toBeLessThanOrEqual(12);
  });
});

describe('H25 negative, fractional or huge delays', () => {
  const headers: [string, string | undefined, number][] = [
    ['negative', '-5', 5],
    ['none', '0', 1],
    ['a fraction', '1.5', 5],
    ['a day and more', '999999', 999_999],
    ['a number of 30 digits', '9'.repeat(30), 5],
    ['a date that is past', 'Sun, 01 Nov 2026 11:00:00 GMT', 5],
    ['a date ahead', 'Sun, 01 Nov 2026 12:05:00 GMT', 300],
    ['a date far ahead', 'Sun, 01 Nov 2126 12:05:00 GMT', 999_999],
    ['a word', 'soon', 5],
    ['empty', '', 5],
    ['missing', undefined, 5],
    ['infinite', 'Infinity', 5],
    ['hexadecimal', '0x10', 5],
  ];
  test.each(headers)(
    'H25 Retry-After that is %s (%s): a whole visibility, at least as long, and not past the deadline',
    async (_name, value, asked) => {
      printed();
      const { task } = await stubborn(429, value === undefined ? {} : { 'retry-after': value });
      const pool = poolOnQueue([task], { maxReceives: maxReceiveCount(TRIES) });
      const command = await enteredTask(pool, 1, { trylimit: TRIES });
      pool.queue.send(bodyOf(command));
      await pool.queue.deliver(pool.handler);
      const [seconds] = pool.queue.hidden;
      expect(seconds).toSatisfy(Number.isInteger);
      expect(seconds).toBeGreaterThanOrEqual(Math.min(asked, patient.timeoutSeconds));
      expect(seconds).toBeLessThanOrEqual(patient.timeoutSeconds);
      expect((await stepOf(pool.store))?.['notBefore']).toBe(Date.now() + (seconds ?? 0) * 1000);
    },
  );

  test.each([
    -1,
    0,
    0.5,
    900,
    901,
    86_400,
    1e12,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    '10',
    null,
    undefined,
  ])('H25 a handler that asks for %s seconds: a whole and legal visibility', async (seconds) => {
    printed();
    const asks = handle(patient, () => Promise.reject(new RetryAfterError('busy', seconds as number)));
    const pool = poolOnQueue([asks], { maxReceives: maxReceiveCount(TRIES) });
    pool.queue.send(bodyOf(await enteredTask(pool, 1, { trylimit: TRIES })));
    await pool.queue.drain(pool.handler);
    expect(pool.queue.hidden.length).toBeGreaterThan(0);
    for (const hidden of pool.queue.hidden)
      expect(hidden).toSatisfy((one: number) => Number.isInteger(one) && one >= 0 && one <= 42_000);
    expect(await stepOf(pool.store)).toMatchObject({ status: 'dead' });
  });

  test.each([1, 2, 5, 10, 60, 1000])(
    'H25 try number %i: at least a second, at most the policy and SQS allow',
    async (tries) => {
      printed();
      const longest = { ...reserve, retry: { tries: 10, baseSeconds: 42_000, maxSeconds: 42_000 } };
      const fails = handle(longest, () => Promise.reject(new Error('down')));
      const pool = poolOnQueue([fails], { maxReceives: 25 });
      const command = await enteredTask(pool, 1, { trylimit: 2000 });
      const step = aStep({
        ...stepItemKey(runIdOf(1), 'Reserve'),
        runId: runIdOf(1),
        status: 'retrying',
        tries: tries - 1,
        fence: tries - 1,
      });
      await seed(pool.store, step);
      pool.queue.send(bodyOf(command));
      await pool.queue.deliver(pool.handler);
      expect(pool.queue.hidden[0]).toSatisfy(
        (one: number) => Number.isInteger(one) && one >= 1 && one <= 42_000,
      );
      expect(await stepOf(pool.store)).toMatchObject({ status: 'retrying', tries });
    },
  );

  test('H25 a wait that leads past the deadline ends there: the task expires at once, with no further call', async () => {
    printed();
    const { asked, task } = await stubborn(429, { 'retry-after': '86400' });
    const pool = poolOnQueue([task], { maxReceives: maxReceiveCount(TRIES) });
    pool.queue.send(bodyOf(await enteredTask(pool, 1, { trylimit: TRIES })));
    const entered = Date.now();
    await pool.queue.drain(pool.handler);
    expect(asked).toHaveLength(1);
    expect(await stepOf(pool.store)).toMatchObject({ status: 'dead', reason: 'expired' });
    expect((await stepOf(pool.store))?.['deadAt']).toBe(entered + patient.timeoutSeconds * 1000);
  });

  test('H25 the longest wait ends within 12 hours of the receive, though the handler took its time', async () => {
    const log = printed();
    const slow = handle(patient, async () => {
      pass(55_000);
      throw new RetryAfterError('busy', 86_400);
    });
    const pool = poolOnQueue([slow], { maxReceives: maxReceiveCount(TRIES) });
    const command = await enteredTask(pool, 1, { trylimit: TRIES });
    await seed(
      pool.store,
      aStep({
        ...stepItemKey(runIdOf(1), 'Reserve'),
        runId: runIdOf(1),
        deadline: Date.now() + 4 * 86_400_000,
      }),
    );
    pool.queue.send(bodyOf(command));
    const received = Date.now();
    await pool.queue.deliver(pool.handler);
    expect(pool.queue.hidden).toEqual([42_000]);
    expect(pool.queue.visibleAt()).toEqual([received + 55_000 + 42_000_000]);
    expect(log.entries().map(({ message }) => message)).not.toContain('visibility was not changed');
  });

  test('H25 a copy that comes before its time waits for what is left, and never hot', async () => {
    printed();
    const pool = countingPool();
    const command = await enteredTask(pool, 1);
    for (const left of [1, 999, 1000, 1001, 59_999, 1e9]) {
      await seed(
        pool.store,
        aStep({
          ...stepItemKey(runIdOf(1), 'Reserve'),
          runId: runIdOf(1),
          status: 'retrying',
          notBefore: Date.now() + left,
        }),
      );
      await pool.handler({ Records: [sqsRecord(bodyOf(command), {}, 2)] }, lambdaContext());
      expect(pool.visibility.changes.at(-1)?.seconds).toBe(Math.min(42_000, Math.ceil(left / 1000)));
    }
    expect(pool.effects.size).toBe(0);
  });
});
