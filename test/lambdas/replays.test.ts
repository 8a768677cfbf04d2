/**
 * Field cases of what comes back: H24's locks and H27 (b) on a queue in virtual time. H24's keys are in
 * http-keys.test.ts, its views in events.test.ts, its tables in test/infra/state.test.ts. H27 (c) is in
 * events.test.ts, (a) is open until there is compensation; replays on the deployed cloud are in test/emulator.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { handle } from '#core/contract.ts';
import { PermanentError } from '#core/errors.ts';
import { stepItemKey } from '#core/items.ts';
import type { Store } from '#core/store.ts';
import { REPLAY_ATTRIBUTE } from '#runtime/worker-pool.ts';
import { aStep, reserve, seed } from '#test/examples.ts';
import {
  bodyOf,
  countingPool,
  enteredTask,
  lambdaContext,
  pass,
  poolOnQueue,
  printed,
  reported,
  runIdOf,
  sqsRecord,
  virtualTime,
} from '#test/pool-fixtures.ts';

beforeEach(virtualTime);

/** Two clocks and one downstream time-out, milliseconds. */
const GRACE_MS = 15_000;

const stepOf = (store: Store) => store.get(stepItemKey(runIdOf(1), 'Reserve'));

describe('H24 locks that have expired and are still there', () => {
  test.each([
    ['long expired', -60_000 - GRACE_MS, 1],
    ['just past its grace', -1 - GRACE_MS, 1],
    ['at its grace', -GRACE_MS, 0],
    ['just ended', -1, 0],
    ['live', 30_000, 0],
  ])(
    'H24 a lock that is %s: taken over %i ms after its end exactly once it may be',
    async (_name, until, effects) => {
      printed();
      const pool = countingPool();
      const command = await enteredTask(pool, 1);
      await seed(
        pool.store,
        aStep({
          ...stepItemKey(runIdOf(1), 'Reserve'),
          runId: runIdOf(1),
          status: 'claimed',
          owner: 'other',
          fence: 1,
          tries: 1,
          started: 1,
          leaseUntil: Date.now() + until,
        }),
      );
      for (const receives of [1, 2]) {
        const response = await pool.handler(
          { Records: [sqsRecord(bodyOf(command), {}, receives)] },
          lambdaContext(),
        );
        expect(reported(response)).toHaveLength(effects === 1 ? 0 : 1);
      }
      expect(pool.effects.size).toBe(effects);
    },
  );
});

describe('H27 replay that rewraps', () => {
  test.each(['by the console', 'by our own tool'])(
    'H27 (b) dead-lettered and replayed three times %s: the same bytes, key and ids each time',
    async (how) => {
      printed();
      const seen: object[] = [];
      let fixed = false;
      const task = handle(
        reserve,
        async (input, { idempotencyKey, correlationId, taskId, tenant, attempt }) => {
          seen.push({ input, idempotencyKey, correlationId, taskId, tenant, attempt });
          if (!fixed) throw new PermanentError('broken');
          return { reservationId: 'r' };
        },
      );
      const pool = poolOnQueue([task]);
      const body = bodyOf(await enteredTask(pool, 1, { data: { orderId: `O'Neil "\\ 😀 \u2028` } }));
      const attributes = {
        type: { dataType: 'String' as const, stringValue: reserve.type },
        tenant: { dataType: 'String' as const, stringValue: 'acme' },
      };
      pool.queue.send(body, attributes);
      for (let replay = 1; replay <= 3; replay += 1) {
        await pool.queue.drain(pool.handler);
        expect(pool.queue.dead.map((message) => [message.body, message.attributes])).toEqual([
          [
            body,
            replay === 1 || how === 'by the console'
              ? attributes
              : {
                  ...attributes,
                  [REPLAY_ATTRIBUTE]: { dataType: 'Number', stringValue: String(replay - 1) },
                },
          ],
        ]);
        pass(GRACE_MS + 1000);
        fixed = replay === 3;
        const marked = {
          ...attributes,
          [REPLAY_ATTRIBUTE]: { dataType: 'Number' as const, stringValue: String(replay) },
        };
        pool.queue.redrive(how === 'by the console' ? undefined : marked);
      }
      await pool.queue.drain(pool.handler);
      expect(pool.queue.dead).toEqual([]);
      expect(seen).toHaveLength(4);
      for (const one of seen) expect(one).toEqual({ ...seen[0] });
      expect(await stepOf(pool.store)).toMatchObject({ status: 'done', started: 4, deaths: 3 });
    },
  );
});
