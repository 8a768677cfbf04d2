/**
 * Field cases about copies and lost answers at the entry point of a worker pool.
 * H05 as far as single writes go: each reason of a cancelled transaction is in test/unit/worker-transactional.test.ts; how
 * the adapter reads the service's answers in test/adapters/call.test.ts, dynamo-store.test.ts and dynamo-transaction.test.ts.
 * H09 here. H23 (a) here, (b) to (d) in payloads.test.ts.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { EdowError, PortUnavailable } from '#core/errors.ts';
import { LEASE_GRACE_MS, maxReceiveCount } from '#core/retry.ts';
import type { Store } from '#core/store.ts';
import { reserve } from '#test/examples.ts';
import { memoryStore } from '#test/memory/store.ts';
import {
  bodyOf,
  countingPool,
  enteredTask,
  lambdaContext,
  pass,
  printed,
  reported,
  runIdOf,
  sqsRecord,
  virtualTime,
  workQueue,
} from '#test/pool-fixtures.ts';
import { type StoreCall, unreliableStore } from '#test/unreliable-store.ts';

beforeEach(virtualTime);

const stepOf = async (store: Store, n = 1) => store.get({ PK: `RUN#${runIdOf(n)}`, SK: 'STEP#Reserve' });

describe('H05 a conflict or a throttle mistaken for "already done" or "not found"', () => {
  const NAMES = ['get', 'update'] as const;
  const when = NAMES.flatMap((name) =>
    [1, 2, 3].flatMap((from) =>
      [1, 2, 4].flatMap((times) =>
        (['refused', 'applied, its answer lost'] as const).map((how) => ({ name, from, times, how })),
      ),
    ),
  );
  const hits = ({ name, from, times }: (typeof when)[number], call: StoreCall): boolean =>
    call.name === name && call.number >= from && call.number < from + times;

  test.each(when)(
    'H05 $name number $from fails $times times in a row ($how): one effect, never acked without it',
    async (trouble) => {
      printed();
      const real = memoryStore();
      const store = unreliableStore(real, {
        before: (call) => {
          if (trouble.how !== 'refused' || !hits(trouble, call)) return undefined;
          return Promise.reject(
            new PortUnavailable('UpdateItem is unavailable: TransactionConflictException'),
          );
        },
        lost: (call) => trouble.how !== 'refused' && hits(trouble, call),
      });
      const queue = workQueue();
      const pool = countingPool(() => {}, { ports: { store, visibility: queue.visibility } });
      queue.send(bodyOf(await enteredTask({ store: real }, 1)));
      let acked = false;
      const watched: typeof pool.handler = async (event, context) => {
        const response = await pool.handler(event, context);
        acked = reported(response).length === 0;
        if (acked) expect(await stepOf(real)).toMatchObject({ status: 'done' });
        return response;
      };
      await queue.drain(watched);
      expect(acked).toBe(true);
      expect(queue.dead).toEqual([]);
      // The downstream knows the key: a try whose commit could not be told is repeated, never doubled.
      expect([...pool.effects.keys()]).toEqual([`${runIdOf(1)}/Reserve/0`]);
      expect([...pool.calls.values()][0]).toBeLessThanOrEqual(reserve.retry.tries);
    },
  );

  test('H05 a refusal that is no condition (no permission) is no duplicate either: kept for another try', async () => {
    printed();
    const real = memoryStore();
    const store = unreliableStore(real, {
      before: () =>
        Promise.reject(new EdowError('port_refused', 'UpdateItem was refused: AccessDeniedException')),
    });
    const pool = countingPool(() => {}, { ports: { store } });
    const record = sqsRecord(bodyOf(await enteredTask({ store: real }, 1)));
    for (const receives of [1, 2]) {
      const again = {
        ...record,
        attributes: { ...record.attributes, ApproximateReceiveCount: String(receives) },
      };
      expect(reported(await pool.handler({ Records: [again] }, lambdaContext()))).toEqual([record.messageId]);
    }
    expect(pool.effects.size).toBe(0);
  });

  test('H05 fifty deliveries of one task at once: one effect, none lost, none dead-lettered', async () => {
    printed();
    const queue = workQueue();
    const pool = countingPool(() => new Promise((done) => setTimeout(done, 5)), {
      ports: { visibility: queue.visibility },
    });
    const command = await enteredTask(pool, 1);
    for (let copy = 0; copy < 50; copy += 1) queue.send(bodyOf(command));
    await Promise.all(Array.from({ length: 5 }, () => queue.deliver(pool.handler)));
    expect(queue.waiting()).toBe(49);
    await queue.drain(pool.handler);
    expect([...pool.calls.values()]).toEqual([1]);
    expect(queue.dead).toEqual([]);
    expect(await stepOf(pool.store)).toMatchObject({ status: 'done', fence: 1, started: 1 });
  });
});

describe('H09 same transport id twice, or event id reused', () => {
  test('H09 (a) one message twice in a batch: one effect, and both handles are acked or neither', async () => {
    printed();
    const pool = countingPool();
    const body = bodyOf(await enteredTask(pool, 1));
    const twin = () => sqsRecord(body, { messageId: 'twin' });
    const first = await pool.handler({ Records: [twin(), twin()] }, lambdaContext());
    // The answer names ids: one entry keeps both.
    expect(first).toEqual({ batchItemFailures: [{ itemIdentifier: 'twin' }] });
    pass(60_000 + LEASE_GRACE_MS + 1);
    const second = await pool.handler({ Records: [twin(), twin()] }, lambdaContext());
    expect(reported(second)).toEqual([]);
    expect([...pool.effects.values()]).toEqual([1]);
  });

  test('H09 (b) two messages with one source and id are one task', async () => {
    printed();
    const pool = countingPool();
    const body = bodyOf(await enteredTask(pool, 1));
    const queue = workQueue();
    await pool.handler({ Records: [sqsRecord(body)] }, lambdaContext());
    await pool.handler({ Records: [sqsRecord(body)] }, lambdaContext());
    queue.send(body);
    queue.send(body);
    await queue.drain(pool.handler);
    expect([...pool.effects.values()]).toEqual([1]);
  });

  test('H09 (c) the id of a task from another source is no copy of it: to the DLQ with a reason, never acked', async () => {
    const log = printed();
    const pool = countingPool();
    const command = await enteredTask(pool, 1);
    const foreign = sqsRecord(bodyOf({ ...command, source: 'urn:elsewhere:workflow:order' }));
    const own = sqsRecord(bodyOf(command));
    const response = await pool.handler({ Records: [own, foreign] }, lambdaContext());
    expect(reported(response)).toEqual([foreign.messageId]);
    expect([...pool.effects.values()]).toEqual([1]);
    const late = sqsRecord(foreign.body, { messageId: foreign.messageId }, 2);
    expect(reported(await pool.handler({ Records: [late] }, lambdaContext()))).toEqual([foreign.messageId]);
    expect(log.entries()).toContainEqual(
      expect.objectContaining({
        level: 'ERROR',
        messageId: foreign.messageId,
        problem: expect.stringContaining('source'),
      }),
    );
  });

  test('H09 (d) one transport id on two tasks: both are done', async () => {
    printed();
    const pool = countingPool();
    const records = [1, 2].map(async (n) =>
      sqsRecord(bodyOf(await enteredTask(pool, n)), { messageId: 'same' }),
    );
    const response = await pool.handler({ Records: await Promise.all(records) }, lambdaContext());
    expect(reported(response)).toEqual([]);
    expect([...pool.effects.values()]).toEqual([1, 1]);
  });

  test.each(['at once', 'after the first was done', 'after the first died'])(
    'H09 (e) one source and id with other data, %s: one effect at most, and the conflict is told',
    async (order) => {
      const log = printed();
      const dies = order === 'after the first died';
      const pool = countingPool(() => (dies ? Promise.reject(new Error('down')) : undefined));
      const command = await enteredTask(pool, 1);
      const first = sqsRecord(bodyOf(command));
      const other = sqsRecord(bodyOf({ ...command, data: { orderId: 'another-order' } }));
      if (order === 'at once') await pool.handler({ Records: [first, other] }, lambdaContext());
      else {
        const tries = dies ? maxReceiveCount(1) : 1;
        for (let receive = 1; receive <= tries; receive += 1) {
          await pool.handler(
            {
              Records: [
                { ...first, attributes: { ...first.attributes, ApproximateReceiveCount: String(receive) } },
              ],
            },
            lambdaContext(),
          );
          pass(400_000 / tries);
        }
        await pool.handler({ Records: [other] }, lambdaContext());
      }
      expect(pool.effects.size).toBe(dies ? 0 : 1);
      expect(log.entries()).toContainEqual(
        expect.objectContaining({
          level: 'WARN',
          messageId: other.messageId,
          message: 'copy of a task with other data',
        }),
      );
      expect(
        log
          .entries()
          .filter(
            ({ messageId, message }) =>
              messageId === first.messageId && message === 'copy of a task with other data',
          ),
      ).toEqual([]);
      expect(log.lines.join('\n')).not.toContain('another-order');
    },
  );
});

describe('H23 claim-check object gone when the message is read', () => {
  test('H23 (a) the effect was committed and the record reported all the same: acked when it comes back', async () => {
    printed();
    const real = memoryStore();
    // The commit is written, both of its answers are lost: the record is reported although its task is done.
    const store = unreliableStore(real, {
      lost: ({ name, number }) => name === 'update' && number >= 2 && number <= 3,
    });
    const pool = countingPool(() => {}, { ports: { store } });
    const body = bodyOf(await enteredTask({ store: real }, 1));
    const record = sqsRecord(body);
    expect(reported(await pool.handler({ Records: [record] }, lambdaContext()))).toEqual([record.messageId]);
    expect(await stepOf(real)).toMatchObject({ status: 'done' });
    const again = sqsRecord(body, { messageId: record.messageId }, 2);
    expect(reported(await pool.handler({ Records: [again] }, lambdaContext()))).toEqual([]);
    expect([...pool.calls.values()]).toEqual([1]);
  });
});
