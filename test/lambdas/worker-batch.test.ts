/**
 * Field cases at the entry point of a worker pool.
 * H01 here. H07 here, its templates in test/infra/queues.test.ts. H08 and the envelope part of H18 and H19 here.
 */
import type { SQSRecord } from 'aws-lambda';
import { beforeEach, describe, expect, test } from 'vitest';
import { handle } from '#core/contract.ts';
import { LEASE_GRACE_MS } from '#core/retry.ts';
import { workerPool } from '#runtime/worker-pool.ts';
import { reserve } from '#test/examples.ts';
import {
  bodyOf,
  countingPool,
  enteredTask,
  lambdaContext,
  pass,
  poolPorts,
  printed,
  type QueueHandler,
  reported,
  sqsRecord,
  virtualTime,
} from '#test/pool-fixtures.ts';

const five = async (ports: Parameters<typeof enteredTask>[0]) =>
  Promise.all([1, 2, 3, 4, 5].map((n) => enteredTask(ports, n)));

beforeEach(virtualTime);

describe('H01 a lock outlives a function killed in mid batch', () => {
  test.each([1, 2, 3, 10])(
    'H01 with %i lanes: each effect once, whatever the kill cut off',
    async (lanes) => {
      const log = printed();
      let hangs = true;
      const commands = await five({ store: poolPorts().store });
      const third = commands[2]?.id;
      const pool = countingPool((key) => (hangs && key === third ? new Promise(() => {}) : undefined), {
        concurrency: lanes,
      });
      for (const n of [1, 2, 3, 4, 5]) await enteredTask(pool, n);
      const bodies = commands.map(bodyOf);
      const records = bodies.map((body) => sqsRecord(body));

      // The handler never settles: Lambda ends the process, and the promise with it.
      const killed = pool.handler({ Records: records }, lambdaContext(2000));
      const ended = await Promise.race([killed, new Promise((done) => setTimeout(done, 50, 'killed'))]);
      expect(ended).toBe('killed');
      const effectsOf = (n: number) => pool.effects.get(commands[n - 1]?.id ?? '') ?? 0;
      expect([effectsOf(1), effectsOf(2), effectsOf(3)]).toEqual([1, 1, 0]);
      expect(effectsOf(4)).toBeLessThanOrEqual(1);

      hangs = false;
      const again = (from: readonly SQSRecord[], receives: number) =>
        from.map((record) => sqsRecord(record.body, { messageId: record.messageId }, receives));
      const second = await pool.handler({ Records: again(records.slice(2), 2) }, lambdaContext());
      expect(reported(second)).toEqual([records[2]?.messageId]);
      expect(effectsOf(3)).toBe(0);
      // Hidden until the lease and its grace are over, not for the queue's whole time-out.
      expect(pool.visibility.changes.at(-1)?.seconds).toBe((2000 + LEASE_GRACE_MS) / 1000 + 1);

      pass(2000 + LEASE_GRACE_MS + 1);
      const twice = [...again(records.slice(2, 3), 3), ...again(records.slice(2, 3), 3)];
      await pool.handler({ Records: twice }, lambdaContext());
      expect([1, 2, 3, 4, 5].map(effectsOf)).toEqual([1, 1, 1, 1, 1]);
      const last = await pool.handler({ Records: again(records, 4) }, lambdaContext());
      expect(reported(last)).toEqual([]);
      expect([1, 2, 3, 4, 5].map(effectsOf)).toEqual([1, 1, 1, 1, 1]);
      expect(log.entries().filter(({ level }) => level === 'ERROR')).toEqual([]);
    },
  );

  test('H01 a batch stops starting records when too little time is left, and hands them back at once', async () => {
    printed();
    const pool = countingPool(() => pass(1000), { concurrency: 1 });
    const commands = await five(pool);
    const records = commands.map((command) => sqsRecord(bodyOf(command)));
    const response = await pool.handler({ Records: records }, lambdaContext(3600));
    expect(pool.effects.size).toBe(3);
    expect(reported(response)).toEqual(records.slice(3).map(({ messageId }) => messageId));
    expect(pool.visibility.changes.map(({ seconds }) => seconds)).toEqual([0, 0]);
  });

  test('H01 a handler that heeds its signal gives the claim back before the function ends', async () => {
    printed();
    const pool = countingPool();
    const command = await enteredTask(pool, 1);
    const heeds = handle(reserve, (_order, { signal }) => {
      const { promise, reject } = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => reject(new Error('told to stop')));
      return promise;
    });
    const handler = workerPool(pool, [heeds]) as unknown as QueueHandler;
    const record = sqsRecord(bodyOf(command));
    const response = await handler({ Records: [record] }, lambdaContext(1600));
    expect(reported(response)).toEqual([record.messageId]);
    const step = (await pool.store.partition(`RUN#${command.runid}`)).find(({ SK }) =>
      SK.startsWith('STEP#'),
    );
    expect(step).toMatchObject({ status: 'retrying', tries: 1 });
    expect(step?.['owner']).toBeUndefined();
  });
});

describe('H07 work failed, message deleted anyway', () => {
  const outcomes = [
    { name: 'the second fails', fails: [2] },
    { name: 'all fail', fails: [1, 2, 3] },
    { name: 'none fails', fails: [] },
  ];
  test.each(outcomes)('H07 $name: exactly the failed ids are listed', async ({ fails }) => {
    printed();
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', note);
    const pool = countingPool(async (key) => {
      await new Promise((done) => setTimeout(done, 200));
      if (fails.some((n) => key === commands[n - 1]?.id)) throw new Error('rejected late');
    });
    const commands = await Promise.all([1, 2, 3].map((n) => enteredTask(pool, n)));
    const records = commands.map((command) => sqsRecord(bodyOf(command)));
    const response = await pool.handler({ Records: records }, lambdaContext());
    expect(response).toEqual({
      batchItemFailures: fails.map((n) => ({ itemIdentifier: records[n - 1]?.messageId })),
    });
    await new Promise((done) => setTimeout(done, 1000));
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });

  test.each([
    ['a text', 'no'],
    ['nothing', undefined],
    ['null', null],
    ['a number', 0],
    [
      'an object with a getter that throws',
      Object.defineProperty({}, 'name', {
        get: () => {
          throw new Error();
        },
      }),
    ],
    ['an error without a message', Object.assign(new Error(), { message: undefined, name: undefined })],
  ])('H07 a handler that throws %s: reported and kept for another try', async (_name, thrown) => {
    printed();
    const pool = countingPool(() => Promise.reject(thrown));
    const record = sqsRecord(bodyOf(await enteredTask(pool, 1)));
    const response = await pool.handler({ Records: [record] }, lambdaContext());
    expect(reported(response)).toEqual([record.messageId]);
  });
});

const S3_TEST = '{"Service":"Amazon S3","Event":"s3:TestEvent","Time":"2026-01-01T00:00:00Z","Bucket":"b"}';

describe('H08 one unreadable or foreign body fails the whole batch', () => {
  const SECRET = 'sesame-4711';
  const strange: [string, unknown][] = [
    ['an empty body', ''],
    ['no JSON', `not json ${SECRET}`],
    ['null', 'null'],
    ['a list', '[]'],
    ['a number', '42'],
    ['a text', `"${SECRET}"`],
    ['half a JSON text', `{"specversion":"1.0","data":{"card":"${SECRET}`],
    ['an SNS envelope', `{"Type":"Notification","Message":"${SECRET}"}`],
    ['an event', `{"specversion":"1.0","id":"x:1","source":"s","type":"a.b.${SECRET}","data":{}}`],
    ['bytes of another encoding', Buffer.from([0xff, 0xfe, 0x00]).toString('latin1')],
    ['JSON of 20,000 levels', '['.repeat(20_000) + ']'.repeat(20_000)],
    ['one megabyte', SECRET.repeat(95_000)],
    ['a body that is no text', { secret: SECRET }],
    ['no body', undefined],
  ];

  test('H08 both valid ones are done, the others go to the DLQ with a reason and without content in the log', async () => {
    const log = printed();
    const pool = countingPool();
    const valid = [await enteredTask(pool, 1), await enteredTask(pool, 2)].map((one) =>
      sqsRecord(bodyOf(one)),
    );
    const odd = strange.map(([, body]) => sqsRecord(body as string));
    const records = [...valid.slice(0, 1), ...odd, sqsRecord(S3_TEST), ...valid.slice(1)];
    const response = await pool.handler({ Records: records }, lambdaContext());
    expect([...pool.effects.values()]).toEqual([1, 1]);
    expect(reported(response).sort()).toEqual(odd.map(({ messageId }) => messageId).sort());
    // At once, so that SQS itself moves them to the dead-letter queue soon.
    expect(pool.visibility.changes.map(({ seconds }) => seconds)).toEqual(odd.map(() => 0));
    for (const { messageId } of odd)
      expect(log.entries()).toContainEqual(
        expect.objectContaining({ level: 'ERROR', messageId, problem: expect.any(String) }),
      );
    expect(log.lines.join('\n')).not.toContain(SECRET);
  });

  test.each<[string, object]>([
    ['bytes beside JSON', { data_base64: 'e30=' }],
    ['bytes instead of JSON', { data: undefined, data_base64: 'e30=' }],
    ['bytes that do not decode', { data: undefined, data_base64: '@@@' }],
    ['bytes in the alphabet of URLs', { data: undefined, data_base64: '_-8=' }],
  ])('H19 a command with %s is refused with a reason: commands carry JSON', async (_name, changes) => {
    const log = printed();
    const pool = countingPool();
    const command = await enteredTask(pool, 1);
    const record = sqsRecord(JSON.stringify({ ...command, ...changes }));
    expect(reported(await pool.handler({ Records: [record] }, lambdaContext()))).toEqual([record.messageId]);
    expect(pool.effects.size).toBe(0);
    expect(log.entries()[0]).toMatchObject({ level: 'ERROR', problem: expect.stringContaining('data') });
  });

  test.each([
    '"__proto__":{"isAdmin":true,"trylimit":1}',
    '"constructor":{"prototype":{"isAdmin":true}}',
    '"data":{"orderId":"o","__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}}}',
  ])(
    'H18 a command with the member %s is a command like any other, and changes no object',
    async (member) => {
      printed();
      const inputs: unknown[] = [];
      const ports = poolPorts();
      const notes = handle(reserve, async (input) => {
        inputs.push(input);
        return { reservationId: 'r' };
      });
      const handler = workerPool(ports, [notes]) as unknown as QueueHandler;
      // A later member of one name wins: what the command had is there first.
      const odd = bodyOf(await enteredTask(ports, 1)).replace(/}$/, `,${member}}`);
      const clean = bodyOf(await enteredTask(ports, 2));
      for (const body of [odd, clean])
        expect(await handler({ Records: [sqsRecord(body)] }, lambdaContext())).toEqual({
          batchItemFailures: [],
        });
      expect(({} as Record<string, unknown>)['isAdmin']).toBeUndefined();
      for (const input of inputs) expect((input as Record<string, unknown>)['isAdmin']).toBeUndefined();
      expect(inputs[1]).toEqual({ orderId: 'o-2' });
    },
  );

  const shapes: [string, (record: SQSRecord) => unknown][] = [
    ['no attributes', ({ attributes: _, ...rest }) => rest],
    ['no message attributes', ({ messageAttributes: _, ...rest }) => rest],
    ['attributes that are null', (record) => ({ ...record, attributes: null, messageAttributes: null })],
    [
      'counts that are no numbers',
      (record) => ({ ...record, attributes: { ApproximateReceiveCount: 'x', SentTimestamp: '' } }),
    ],
  ];
  test.each(shapes)('H08 a record with %s is handled like any other', async (_name, change) => {
    printed();
    const pool = countingPool();
    const record = change(sqsRecord(bodyOf(await enteredTask(pool, 1)))) as SQSRecord;
    expect(await pool.handler({ Records: [record] }, lambdaContext())).toEqual({ batchItemFailures: [] });
    expect([...pool.effects.values()]).toEqual([1]);
  });

  test.each([[null], [undefined], [42], ['text'], [{}], [{ messageId: 7, body: 'x' }]])(
    'H08 a record that is %o stands alone: its batch-mate is done and nothing is thrown',
    async (odd) => {
      const log = printed();
      const pool = countingPool();
      const record = sqsRecord(bodyOf(await enteredTask(pool, 1)));
      const response = await pool.handler(
        { Records: [odd as unknown as SQSRecord, record] },
        lambdaContext(),
      );
      // An empty or foreign id in the answer would fail the whole batch.
      expect(response).toEqual({ batchItemFailures: [] });
      expect([...pool.effects.values()]).toEqual([1]);
      expect(log.entries().some(({ level }) => level === 'ERROR')).toBe(true);
    },
  );

  test.each([[{}], [{ Records: [] }], [{ Records: null }], [{ Records: 'x' }], [null], [undefined]])(
    'H08 an event that is %o has no records',
    async (event) => {
      printed();
      const pool = countingPool();
      expect(await pool.handler(event as never, lambdaContext())).toEqual({ batchItemFailures: [] });
    },
  );
});
