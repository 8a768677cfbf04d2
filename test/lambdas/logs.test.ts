/**
 * Field cases of the log: H32 and H33 at the workers and the trigger, on what is really printed. No payload, token or
 * secret in a line of any stage: here, in worker-batch.test.ts (H08) and test/unit/worker.test.ts.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { handle, type TaskHandler } from '#core/contract.ts';
import { chain } from '#runtime/chain.ts';
import { reserve } from '#test/examples.ts';
import { httpApi, startRequest, v1, v2 } from '#test/http-fixtures.ts';
import {
  bodyOf,
  enteredTask,
  lambdaContext,
  poolOnQueue,
  printed,
  type QueueHandler,
  sqsRecord,
  virtualTime,
} from '#test/pool-fixtures.ts';

beforeEach(virtualTime);

const talks = (say: Parameters<typeof handle<typeof reserve.input, typeof reserve.output>>[1]): TaskHandler =>
  handle(reserve, say);
const reservation = { reservationId: 'r' };

describe('H32 log context carried into the next invocation', () => {
  test.each(['ends well', 'throws'])(
    'H32 the first call %s: nothing of it is in the lines of the second',
    async (how) => {
      const log = printed();
      let first = true;
      const pool = poolOnQueue([
        talks(async (_order, ctx) => {
          if (!first) {
            ctx.log.info('clean');
            return reservation;
          }
          first = false;
          const user = ctx.log.child({ user: 'u-AAA' });
          user.info('working', { detail: 'd-AAA' });
          if (how === 'throws') throw new Error('AAA');
          return reservation;
        }),
      ]);
      pool.queue.send(bodyOf(await enteredTask(pool, 1, { correlationid: 'c-AAA' })));
      await pool.queue.deliver(pool.handler);
      expect(log.lines.join('\n')).toContain('u-AAA');
      expect(log.lines.join('\n')).toContain('c-AAA');
      const before = log.lines.length;
      pool.queue.send(bodyOf(await enteredTask(pool, 2)));
      await pool.queue.deliver(pool.handler);
      const second = log.lines.slice(before).join('\n');
      expect(second).toContain('clean');
      expect(second).not.toContain('AAA');
    },
  );

  test('H32 an entry point that throws leaves nothing behind either', async () => {
    const log = printed();
    let first = true;
    const entry = chain<object, string>('stage', async (_event, context) => {
      context.log.child({ user: 'u-AAA' }).info('in it');
      if (first) {
        first = false;
        throw new Error('AAA');
      }
      return 'ok';
    }) as unknown as (event: object, context: object) => Promise<string>;
    const [one, other] = [lambdaContext(), lambdaContext()];
    const thrown = await entry({}, one).catch((error: unknown) => error as Error);
    // Lambda prints what is thrown: neither its message nor its stack tells what the caller sent.
    expect(thrown).toBeInstanceOf(Error);
    expect(
      `${(thrown as Error).message} ${(thrown as Error).stack} ${(thrown as Error).cause}`,
    ).not.toContain('AAA');
    const before = log.lines.length;
    expect(await entry({}, other)).toBe('ok');
    const requests = log.entries().map(({ request }) => request);
    expect(new Set(requests.slice(0, before))).toEqual(new Set([one.awsRequestId]));
    expect(new Set(requests.slice(before))).toEqual(new Set([other.awsRequestId]));
  });

  test.each([1, 3, 10])(
    'H32 ten records with ten correlation ids, %i at a time: each line carries its own only',
    async (concurrency) => {
      const log = printed();
      const pool = poolOnQueue(
        [
          talks(async ({ orderId }, ctx) => {
            // Functions that are taken out of the log still know whose lines they write.
            const { info } = ctx.log;
            info('begins', { order: orderId });
            await new Promise((done) => setTimeout(done, Math.random() * 5));
            ctx.log.info('ends', { order: orderId });
            if (orderId.endsWith('7')) throw new Error('fails');
            return reservation;
          }),
        ],
        { concurrency },
      );
      const commands = await Promise.all(Array.from({ length: 10 }, (_, n) => enteredTask(pool, n + 1)));
      const records = commands.map((command) => sqsRecord(bodyOf(command)));
      await pool.handler({ Records: records }, lambdaContext());
      const own = log.entries().filter(({ task }) => task !== undefined);
      expect(own).toHaveLength(30);
      for (const [n, { id, correlationid }] of commands.entries()) {
        const lines = own.filter(({ task }) => task === id);
        expect(lines).toHaveLength(3);
        for (const line of lines) {
          expect(line).toMatchObject({
            correlation: correlationid,
            messageId: records[n]?.messageId,
            attempt: 1,
          });
          if ('order' in line) expect(line['order']).toBe(`o-${n + 1}`);
        }
      }
    },
  );
});

const FORGED: [string, string][] = [
  ['a line feed', 'x\n{"level":"ERROR","message":"forged"}'],
  ['a line end of Windows', 'x\r\n{"level":"ERROR","message":"forged"}'],
  ['a carriage return', 'x\r{"level":"ERROR","message":"forged"}'],
  ['colours of a terminal', '\u001b[31mred\u001b[0m'],
  ['line ends of Unicode', 'x\u2028{"level":"ERROR","message":"forged"}\u2029'],
  ['the end of a JSON text', '"},{"level":"ERROR","message":"forged"}'],
  ['half a character', 'half \ud83d a character'],
  ['control characters', '\u0000\u0007'],
  ['500 KB', 'x'.repeat(500_000)],
  ['500,000 control characters', '\u0001'.repeat(500_000)],
  ['100,000 emoji', '😀'.repeat(100_000)],
];

/** One event, one line of JSON with the product's own level, time and message. */
function expectHonest(log: ReturnType<typeof printed>): void {
  expect(log.lines.length).toBeGreaterThan(0);
  for (const line of log.lines) {
    expect(Buffer.byteLength(line)).toBeLessThan(64 * 1024);
    const entry = JSON.parse(line) as Record<string, unknown>;
    expect(entry['message']).not.toBe('forged');
    expect(entry['level']).toMatch(/^(DEBUG|INFO|WARN|ERROR)$/);
    expect(entry['time']).toBe(new Date().toISOString());
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal would obey
    expect(line).not.toMatch(/[\u0000-\u001f\u007f]/);
  }
}

describe('H33 forged log lines and overridden log fields', () => {
  test.each(FORGED)('H33 a request full of %s is logged in honest lines', async (_name, text) => {
    const log = printed();
    const api = httpApi();
    const headers = [
      ['Idempotency-Key', text],
      ['User-Agent', text],
      ['X-Correlation-Id', text],
      ['traceparent', text],
    ] as const;
    for (const event of [v1, v2]) {
      await api.trigger(event({ ...startRequest({ name: text }), headers, path: { name: text } }));
      await api.trigger(event({ ...startRequest({ name: text }), headers }));
      const answer = await api.trigger(
        event({ ...startRequest({ name: text }), headers: [...headers.slice(1), ['Idempotency-Key', 'k']] }),
      );
      expect([202, 400, 413]).toContain(answer.statusCode);
      await api.status(event({ path: { id: text } }));
      await api.status(event({ query: { cursor: text, status: text, limit: text } }));
    }
    expectHonest(log);
  });

  test.each(FORGED)('H33 a command full of %s is logged in honest lines', async (_name, text) => {
    const log = printed();
    const pool = poolOnQueue([talks(async () => reservation)]);
    const command = await enteredTask(pool, 1, { data: { orderId: text } });
    const odd = [
      { type: text },
      { correlationid: text },
      { traceparent: text },
      { tenant: text },
      { runid: text },
      { step: text },
      { data: text },
      { id: text },
    ];
    const records = [{}, ...odd].map((changes) => sqsRecord(JSON.stringify({ ...command, ...changes })));
    await pool.handler({ Records: records }, lambdaContext());
    expectHonest(log);
  });

  test.each(FORGED)(
    "H33 a handler that logs %s, under names that are the log's own, changes none of them",
    async (_name, text) => {
      const log = printed();
      const names = [
        'level',
        'message',
        'time',
        'timestamp',
        'service',
        'correlationId',
        'correlation',
        'task',
        'run',
        'stage',
        'request',
        'attempt',
        'messageId',
        '__proto__',
        'toString',
      ];
      const fields = Object.fromEntries(names.map((name) => [name, text]));
      const pool = poolOnQueue([
        talks(async (_order, ctx) => {
          ctx.log.info(text, fields);
          ctx.log
            .child(fields)
            .child(fields)
            .warn('child', { ...fields, more: text });
          throw Object.assign(new Error(text), { name: text, code: text });
        }),
      ]);
      const command = await enteredTask(pool, 1);
      await pool.handler({ Records: [sqsRecord(bodyOf(command))] }, lambdaContext());
      expectHonest(log);
      for (const entry of log.entries())
        expect(entry).toMatchObject({
          stage: 'worker',
          task: command.id,
          run: command.runid,
          correlation: command.correlationid,
        });
      expect(log.entries().map(({ level }) => level)).toEqual(['INFO', 'WARN', 'WARN']);
    },
  );

  test('H16 H33 logging never throws and never shows an object, whatever a handler hands over', async () => {
    const log = printed();
    const loop: Record<string, unknown> = { inner: { secret: 'sesame-4711' } };
    loop['loop'] = loop;
    const values: unknown[] = [
      10n ** 30n,
      loop,
      [loop],
      Symbol('s'),
      () => loop,
      null,
      undefined,
      Number.NaN,
      Infinity,
      new Date(),
      new Map([['sesame-4711', 1]]),
      {
        toJSON: () => {
          throw new Error('no');
        },
      },
      Object.defineProperty({}, 'odd', {
        enumerable: true,
        get: () => {
          throw new Error('no');
        },
      }),
    ];
    let reached = false;
    const pool = poolOnQueue([
      talks(async (_order, ctx) => {
        for (const value of values) {
          ctx.log.info('value', { value } as never);
          ctx.log.info(value as never, value as never);
          ctx.log.child(value as never).info('child');
        }
        ctx.log.info(
          'many',
          Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`field-${n}`, 'y'.repeat(900)])),
        );
        reached = true;
        return reservation;
      }),
    ]);
    await pool.handler({ Records: [sqsRecord(bodyOf(await enteredTask(pool, 1)))] }, lambdaContext());
    expect(reached).toBe(true);
    for (const line of log.lines) expect(Buffer.byteLength(line)).toBeLessThan(64 * 1024);
    expect(log.entries().find(({ message }) => message === 'many')).toMatchObject({
      dropped: expect.any(String),
      stage: 'worker',
    });
    expect(log.entries()[0]).toMatchObject({ value: `1${'0'.repeat(30)}` });
    expect(log.lines.join('\n')).not.toContain('sesame-4711');
  });

  test('no input, result, token or secret of a failing task is printed', async () => {
    const log = printed();
    const pool = poolOnQueue([
      talks(async ({ orderId }) => {
        throw new TypeError(`cannot read ${orderId}`, { cause: new Error(`because of ${orderId}`) });
      }),
    ]);
    pool.queue.send(bodyOf(await enteredTask(pool, 1, { data: { orderId: 'sesame-4711' } })));
    await pool.queue.drain(pool.handler as QueueHandler);
    expect(log.entries().some(({ message }) => message === 'task gave up')).toBe(true);
    expect(log.lines.join('\n')).not.toMatch(/sesame-4711|token-1/);
  });
});
