/**
 * Field cases of payloads on their whole way, trigger to the second step's worker and back to status: H15, H16, H17 and
 * H21 beyond the door (http-body.test.ts, http-encoding.test.ts), H22 and H23 (b) to (d). H23 (a) is in
 * worker-duplicates.test.ts, the bucket's own answers in test/adapters/s3-payloads.test.ts, lifetimes and the topic's
 * alarms in test/infra, real queues in test/emulator. Scattered tasks and their lists (H21) are not built.
 */
import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { EdowError, PortUnavailable } from '#core/errors.ts';
import { itemBytes } from '#core/item-bytes.ts';
import { fromInput, fromStep } from '#core/mapping.ts';
import { INLINE_BYTES } from '#core/payload.ts';
import type { Store } from '#core/store.ts';
import { echoLine } from '#test/echo-line.ts';
import { bodyIn, startRequest } from '#test/http-fixtures.ts';
import {
  bodyOf,
  countingPool,
  enteredTask,
  lambdaContext,
  poolPorts,
  printed,
  reported,
  runIdOf,
  sqsRecord,
  virtualTime,
} from '#test/pool-fixtures.ts';

beforeEach(virtualTime);

const sha256 = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');

/** SNS takes 262,144 bytes a message, SQS refuses what XML 1.0 does not have. */
function expectSendable(line: ReturnType<typeof echoLine>): void {
  expect(line.commands.length).toBeGreaterThan(0);
  expect(line.events.length).toBeGreaterThan(0);
  for (const { body, attributes } of [...line.commands, ...line.events]) {
    const size = Object.entries(attributes).reduce(
      (sum, [name, { dataType, stringValue = '' }]) => sum + Buffer.byteLength(name + dataType + stringValue),
      Buffer.byteLength(body),
    );
    expect(size).toBeLessThanOrEqual(262_144);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the three that SQS takes
    expect(body).toMatch(/^[\u0009\u000a\u000d\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u);
  }
}

/** Runs a body through and finds it again, byte for byte, everywhere. */
async function expectKept(text: string) {
  printed();
  const line = echoLine();
  const value = JSON.parse(text) as unknown;
  const { accepted, first, second, shown } = await line.start(text);
  expect(accepted.statusCode).toBe(202);
  for (const step of ['First', 'Second']) expect(sha256(line.seen.get(step))).toBe(sha256(value));
  expect([first?.status, second?.status]).toEqual(['done', 'done']);
  const steps = bodyIn(shown ?? { statusCode: 0 })['steps'] as { result: unknown }[];
  expect(steps.map(({ result }) => sha256(result))).toEqual([sha256(value), sha256(value)]);
  expect(line.answers.accepted.map(({ token }) => token)).toEqual(['token-First', 'token-Second']);
  expect(line.queue.dead).toEqual([]);
  expectSendable(line);
  for (const item of line.store.items()) expect(itemBytes(item)).toBeLessThan(INLINE_BYTES + 4096);
  return { line, first, second };
}

describe('what is accepted arrives unchanged', () => {
  const marks = [0x00, 0x01, 0x07, 0x0b, 0x1f, 0x7f, 0x85, 0x2028, 0xfffe, 0xffff].map((code) =>
    String.fromCharCode(code),
  );
  test.each([...marks, `O'Neil \\ " $x #set {a} <b>&amp;`, '😀é'])(
    'H15 %j comes back character by character',
    async (text) => {
      await expectKept(
        JSON.stringify({ name: text, list: [text, `${text}${text}`], [`member ${text}`]: { deep: text } }),
      );
    },
  );

  test.each(['1e40', '1e-7', '-0', '9007199254740991', '1.7976931348623157e308', '5e-324', '0.1'])(
    'H16 %s comes back as it was',
    async (text) => {
      await expectKept(`{"amount":${text},"list":[${text}]}`);
    },
  );

  test('H17 what is empty or null comes back so, what is missing stays missing', async () => {
    await expectKept(
      '{"text":"","list":[],"object":{},"none":null,"deep":[{"text":"","tags":[],"none":[null,"",{}]}]}',
    );
  });
});

describe('H21 size thresholds along the whole path', () => {
  /** A JSON object of so many UTF-8 bytes. */
  const sized = (bytes: number, filler: string): string => {
    const room = bytes - Buffer.byteLength('{"a":""}');
    const size = Buffer.byteLength(filler);
    return `{"a":"${filler.repeat(Math.floor(room / size))}${'x'.repeat(room % size)}"}`;
  };
  const COMMAND_DATA = 32 * 1024;
  const sizes = [
    INLINE_BYTES - 1024,
    INLINE_BYTES - 1,
    INLINE_BYTES,
    INLINE_BYTES + 1,
    COMMAND_DATA - 1,
    COMMAND_DATA,
    COMMAND_DATA + 1,
    150_000,
    204_800,
  ];

  test.each(sizes.flatMap((bytes) => ['x', 'é', '😀'].map((filler) => ({ bytes, filler }))))(
    'H21 $bytes bytes of $filler: inline or a pointer as their UTF-8 bytes say, with the same SHA-256',
    async ({ bytes, filler }) => {
      const { line, first } = await expectKept(sized(bytes, filler));
      const run = line.store.items().find(({ SK }) => SK === 'RUN');
      const inline = bytes <= INLINE_BYTES;
      expect([run?.['input'] !== undefined, run?.['inputRef'] !== undefined]).toEqual([inline, !inline]);
      expect([first?.result !== undefined, first?.resultRef !== undefined]).toEqual([inline, !inline]);
      const travels = line.commands.map(({ body }) => 'data' in (JSON.parse(body) as object));
      expect(travels).toEqual([bytes <= COMMAND_DATA, bytes <= COMMAND_DATA]);
      expect(line.payloads.objects.size > 0).toBe(!inline);
    },
  );

  test.each([300_000, 900_000, 2_000_000])(
    'H21 a result of %i bytes goes through the bucket to the next step',
    async (bytes) => {
      printed();
      const result = { a: '😀'.repeat(bytes / 4) };
      const line = echoLine((input, step) => (step === 'First' ? result : input));
      const { first, second } = await line.start({});
      expect(first?.resultRef).toMatch(/^s3:\/\//);
      expect(sha256(line.seen.get('Second'))).toBe(sha256(result));
      expect(second?.status).toBe('done');
      expectSendable(line);
      for (const item of line.store.items()) expect(itemBytes(item)).toBeLessThan(INLINE_BYTES);
      // States see nothing but what a contract exposes.
      for (const { output } of line.answers.accepted) expect(output).toBe('{}');
    },
  );

  test('H21 ten results of 200 KB are one command of one pointer', async () => {
    printed();
    const results = Array.from({ length: 10 }, (_, n) => ({ n, a: 'x'.repeat(200_000) }));
    const line = echoLine((input, step) => results[Number(step.slice(1))] ?? input);
    const { runId } = await line.start({});
    for (const n of results.keys()) await line.step(runId, `R${n}`, fromInput());
    const all = await line.step(
      runId,
      'All',
      results.map((_, n) => fromStep(`R${n}`)),
    );
    expect(sha256(line.seen.get('All'))).toBe(sha256(results));
    expect(all?.status).toBe('done');
    expectSendable(line);
  });

  test('H21 a failure of a megabyte is kept and answered short', async () => {
    printed();
    const line = echoLine(() => {
      throw Object.assign(new Error('😀'.repeat(250_000)), { name: 'x'.repeat(250_000) });
    });
    const { first } = await line.start({});
    expect(first).toMatchObject({ status: 'dead', reason: 'exhausted' });
    expect(itemBytes(first as never)).toBeLessThan(16 * 1024);
    for (const { error, cause } of line.answers.accepted) {
      expect(error).toBe('TaskFailed');
      expect(cause?.length).toBeLessThan(2000);
    }
  });
});

describe('H22 more than ten message attributes', () => {
  test.each([0, 7, 8, 9, 13])(
    'H22 with %i headers of the caller: two attributes, all that matters in the envelope',
    async (more) => {
      printed();
      const line = echoLine();
      const traceparent = '00-11111111111111111111111111111111-2222222222222222-01';
      const headers = [
        ['Idempotency-Key', 'k'],
        ['X-Correlation-Id', 'corr-77'],
        ['traceparent', traceparent],
        ...Array.from({ length: more }, (_, n) => [`X-Meta-${n}`, `value-${n}`] as const),
      ] as const;
      const { second } = await line.run({ ...startRequest({ a: 1 }), headers: headers as never });
      expect(second?.status).toBe('done');
      expect(line.commands).toHaveLength(2);
      for (const { body, attributes } of [...line.commands, ...line.events]) {
        expect(Object.keys(attributes).sort()).toEqual(['tenant', 'type']);
        expect(JSON.parse(body)).toMatchObject({ correlationid: 'corr-77', traceparent, tenant: 'default' });
      }
    },
  );
});

describe('H23 claim-check object gone when the message is read', () => {
  const step = async (ports: { readonly store: Store }) =>
    ports.store.get({ PK: `RUN#${runIdOf(1)}`, SK: 'STEP#Reserve' });

  test('H23 (b) the object is gone: that task is dead with a reason, its batch-mate is done', async () => {
    const log = printed();
    const pool = countingPool();
    const dataref = await pool.payloads.put('acme/run/input.json', '{"orderId":"o-1"}');
    const lost = sqsRecord(bodyOf(await enteredTask(pool, 1, { data: undefined, dataref } as never)));
    const healthy = sqsRecord(bodyOf(await enteredTask(pool, 2)));
    pool.payloads.objects.clear();
    const response = await pool.handler({ Records: [lost, healthy] }, lambdaContext());
    expect(reported(response)).toEqual([lost.messageId]);
    expect(pool.visibility.changes).toEqual([{ receiptHandle: lost.receiptHandle, seconds: 0 }]);
    expect(await step(pool)).toMatchObject({
      status: 'dead',
      reason: 'permanent',
      failure: { name: 'PayloadGone' },
    });
    expect([...pool.effects.keys()]).toEqual([`${runIdOf(2)}/Reserve/0`]);
    expect(log.lines.join('\n')).not.toContain('s3://');
  });

  test.each([
    ['403', new EdowError('port_refused', 'GetObject was refused: Forbidden')],
    ['503', new PortUnavailable('GetObject is unavailable: SlowDown')],
    ['a time-out', new PortUnavailable('GetObject is unavailable: TimeoutError')],
  ])('H23 (c) the bucket answers %s: kept for another try, done when it is back', async (_name, error) => {
    printed();
    const own = poolPorts();
    let away = true;
    const payloads = {
      ...own.payloads,
      get: (pointer: string, tenant: string) =>
        away ? Promise.reject(error) : own.payloads.get(pointer, tenant),
    };
    const pool = countingPool(() => {}, { ports: { ...own, payloads } });
    const dataref = await own.payloads.put('acme/run/input.json', '{"orderId":"o-1"}');
    const record = sqsRecord(bodyOf(await enteredTask(own, 1, { data: undefined, dataref } as never)));
    expect(reported(await pool.handler({ Records: [record] }, lambdaContext()))).toEqual([record.messageId]);
    const waiting = await step(own);
    expect(waiting).toMatchObject({ status: 'retrying', tries: 1 });
    away = false;
    await own.store.put({ item: { ...waiting, notBefore: 0 } as never, when: { all: [] } });
    expect(reported(await pool.handler({ Records: [record] }, lambdaContext()))).toEqual([]);
    expect([...pool.effects.values()]).toEqual([1]);
  });

  const text = '{"orderId":"secret"}';
  const hash = createHash('sha256').update(text).digest('hex');
  test.each([
    ['another bucket', `s3://other/payloads/acme/x#${hash}`, 0],
    ['a key outside the prefix', `s3://payload-bucket/secrets/x#${hash}`, 0],
    ['a key that climbs out', `s3://payload-bucket/payloads/../secrets/x#${hash}`, 0],
    ['a key with a dot', `s3://payload-bucket/payloads/./x#${hash}`, 0],
    ['no hash', 's3://payload-bucket/payloads/acme/x', 0],
    ['a short hash', 's3://payload-bucket/payloads/acme/x#00', 0],
    ['a web address', `https://payload-bucket/payloads/acme/x#${hash}`, 0],
    ['a file', 'file:///etc/passwd', 0],
    ["another tenant's object", `s3://payload-bucket/payloads/other/x#${hash}`, 0],
    ['a tenant whose name begins as ours', `s3://payload-bucket/payloads/acme-2/x#${hash}`, 0],
    ['a wrong hash', `s3://payload-bucket/payloads/acme/x/${hash.slice(0, 32)}#${'0'.repeat(64)}`, 0],
    ['a key without a hash', `s3://payload-bucket/payloads/acme/x#${hash}`, 0],
    [
      'an object with another text',
      `s3://payload-bucket/payloads/acme/${'0'.repeat(32)}#${'0'.repeat(64)}`,
      1,
    ],
  ])(
    'H23 (d) a pointer to %s is refused: dead with a reason, no effect, nothing of it in the log',
    async (_name, dataref, reads) => {
      const log = printed();
      const pool = countingPool();
      // What it asks for is there, wherever it points: only the pointer can be refused.
      for (const key of [
        'payloads/acme/x',
        `payloads/acme/x/${hash.slice(0, 32)}`,
        `payloads/acme/${'0'.repeat(32)}`,
        'payloads/other/x',
        'payloads/acme-2/x',
        'secrets/x',
        'payloads/../secrets/x',
        'payloads/./x',
      ])
        pool.payloads.objects.set(key, Buffer.from(text));
      const read = vi.spyOn(pool.payloads.objects, 'get');
      const record = sqsRecord(bodyOf(await enteredTask(pool, 1, { data: undefined, dataref } as never)));
      expect(reported(await pool.handler({ Records: [record] }, lambdaContext()))).toEqual([
        record.messageId,
      ]);
      expect(pool.effects.size).toBe(0);
      expect(await step(pool)).toMatchObject({
        status: 'dead',
        reason: 'permanent',
        failure: { name: 'PayloadGone' },
      });
      expect(read).toHaveBeenCalledTimes(reads);
      expect(log.lines.join('\n')).not.toContain('payload-bucket');
    },
  );
});
