/**
 * Field cases of the idempotency key at the trigger: H02, H03, H04 and the keys of H24. Starters other than HTTP are not
 * built yet. On the deployed cloud: test/emulator.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { PortUnavailable } from '#core/errors.ts';
import { executionName } from '#core/items.ts';
import { DEPLOYED } from '#test/examples.ts';
import {
  apiOn,
  bodyIn,
  FORMATS,
  httpApi,
  pointersIn,
  type SentRequest,
  startRequest,
  v1,
  v2,
} from '#test/http-fixtures.ts';
import { pass, printed, virtualTime } from '#test/pool-fixtures.ts';
import { unreliableStore } from '#test/unreliable-store.ts';

beforeEach(virtualTime);

const keyed = (...headers: (readonly [string, string])[]): SentRequest => ({
  ...startRequest({ a: 1 }),
  headers,
});

describe.each(FORMATS)('H02 key absent, blank, doubled or hidden by spelling: $format', ({ event }) => {
  const refused: [string, SentRequest][] = [
    ['no key', keyed()],
    ['an empty key', keyed(['Idempotency-Key', ''])],
    ['three spaces', keyed(['Idempotency-Key', '   '])],
    ['tabs', keyed(['Idempotency-Key', '\t\t'])],
    ['null', keyed(['Idempotency-Key', 'null'])],
    ['undefined', keyed(['Idempotency-Key', 'undefined'])],
    ['two keys under one spelling', keyed(['Idempotency-Key', 'k1'], ['Idempotency-Key', 'k2'])],
    ['two keys under two spellings', keyed(['Idempotency-Key', 'k1'], ['idempotency-key', 'k2'])],
    ['two keys in one value', keyed(['Idempotency-Key', 'k1,k2'])],
    ['two keys, one blank', keyed(['Idempotency-Key', 'k1'], ['idempotency-key', ''])],
    ['256 characters', keyed(['Idempotency-Key', 'k'.repeat(256)])],
    ['a control character', keyed(['Idempotency-Key', 'k\u0007'])],
    ['another alphabet', keyed(['Idempotency-Key', 'ключ'])],
    ['another header', keyed(['X-Idempotency-Key', 'k1'])],
  ];
  test.each(refused)('H02 %s: 400 that names the header, nothing started', async (_name, request) => {
    printed();
    const api = httpApi();
    const answer = await api.trigger(event(request));
    expect(answer.statusCode).toBe(400);
    expect(pointersIn(answer)).toEqual(['#/header/Idempotency-Key']);
    expect(api.executions.started).toEqual([]);
    expect(api.store.items()).toEqual([]);
  });

  test.each([[null], [undefined], [{}], [{ 'idempotency-key': null }], [{ 'idempotency-key': undefined }]])(
    'H02 headers that are %o count as absent',
    async (headers) => {
      printed();
      const api = httpApi();
      const odd = { ...event(keyed()), headers, multiValueHeaders: headers };
      expect((await api.trigger(odd as never)).statusCode).toBe(400);
      expect(api.executions.started).toEqual([]);
    },
  );

  test('H02 one key in every spelling is one run', async () => {
    printed();
    const api = httpApi();
    const spellings = ['Idempotency-Key', 'idempotency-key', 'IDEMPOTENCY-KEY', 'iDeMpOtEnCy-KeY'];
    const ids = new Set<unknown>();
    for (const name of spellings) {
      for (const value of ['k1', ' k1 ']) {
        const answer = await api.trigger(event(keyed([name, value])));
        expect(answer.statusCode).toBe(202);
        ids.add(bodyIn(answer)['id']);
      }
    }
    expect(ids.size).toBe(1);
    expect(api.executions.started).toHaveLength(1);
  });
});

test('H02 both formats read one key alike, also where only the multi-value headers are there', async () => {
  printed();
  const api = httpApi();
  const request = keyed(['Idempotency-Key', 'k1']);
  const answers = [
    v1(request),
    v2(request),
    { ...v1(request), headers: null },
    { ...v1(request), multiValueHeaders: null },
  ];
  const ids = new Set<unknown>();
  for (const event of answers) ids.add(bodyIn(await api.trigger(event as never))['id']);
  expect(ids.size).toBe(1);
});

describe('H03 same Idempotency-Key, other body', () => {
  const A = '{"order":"o-1","lines":[{"sku":"s","n":1},{"sku":"t","n":2}]}';
  const A_REORDERED = ' {\n"lines" : [ {"n":1.0,"sku":"\\u0073"} , {"n":2e0,"sku":"t"} ],\t"order":"o-1"}\n';
  const others = [
    '{"order":"o-2","lines":[{"sku":"s","n":1},{"sku":"t","n":2}]}',
    '{"order":"o-1","lines":[{"sku":"t","n":2},{"sku":"s","n":1}]}',
    '{"order":"o-1","lines":[{"sku":"s","n":1},{"sku":"t","n":"2"}]}',
    '{"order":"o-1","lines":[{"sku":"s","n":1},{"sku":"t","n":2}],"more":null}',
    '{"order":"o-1"}',
    '{}',
  ];

  test.each(others)(
    "H03 %s after another body: refused every time, without the first one's answer",
    async (other) => {
      printed();
      const api = httpApi();
      const first = await api.trigger(v2(startRequest(A)));
      const { id } = bodyIn(first);
      for (let round = 0; round < 3; round += 1) {
        const answer = await api.trigger(v2(startRequest(other)));
        expect(answer.statusCode).toBe(409);
        expect(answer.body).not.toContain(id);
        expect(answer.headers).not.toHaveProperty('location');
      }
      expect(bodyIn(await api.trigger(v2(startRequest(A_REORDERED))))['id']).toBe(id);
      expect(api.executions.started).toHaveLength(1);
      // A cold instance on the same table says the same.
      const cold = apiOn(api);
      expect((await cold.trigger(v2(startRequest(other)))).statusCode).toBe(409);
    },
  );

  test('H03 twenty at once, half with each body: one run, and every loser is told', async () => {
    printed();
    const real = httpApi();
    // Calls of the store take different times, so that they mix.
    let calls = 0;
    const store = unreliableStore(real.store, {
      before: () => {
        calls += 1;
        return new Promise((done) => setTimeout(done, (calls * 7) % 5));
      },
    });
    const api = apiOn({ ...real, store });
    const bodies = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? A : '{"order":"B"}'));
    const answers = await Promise.all(bodies.map((body) => api.trigger(v2(startRequest(body)))));
    const accepted = answers.filter(({ statusCode }) => statusCode === 202);
    expect(accepted).toHaveLength(10);
    expect(new Set(accepted.map((answer) => bodyIn(answer)['id'])).size).toBe(1);
    expect(answers.filter(({ statusCode }) => statusCode === 409)).toHaveLength(10);
    expect(real.executions.started).toHaveLength(1);
    expect(real.store.items().filter(({ SK }) => SK === 'RUN')).toHaveLength(1);
  });

  test('H03 one key for two workflows, or of two tenants, is two keys', async () => {
    printed();
    const api = httpApi();
    const tenants = new Map([
      ['arn:aws:iam::000000000000:role/Shop', 'shop'],
      ['arn:aws:iam::000000000000:role/Shop2', 'shop2'],
    ]);
    const two = apiOn({ ...api, tenants });
    const caller = 'arn:aws:sts::000000000000:assumed-role/Shop2/s';
    const ids = [
      await two.trigger(v2(startRequest({ a: 1 }))),
      await two.trigger(v2({ ...startRequest({ a: 2 }), caller })),
    ].map((answer) => bodyIn(answer)['id']);
    expect(new Set(ids).size).toBe(2);
    expect(ids).not.toContain(undefined);
  });
});

describe('H04 redelivered trigger starts another execution', () => {
  test('H04 five times while it runs, five times after its end, then with another input: one execution', async () => {
    const log = printed();
    const api = httpApi();
    const request = startRequest({ order: 'o-1' });
    const first = bodyIn(await api.trigger(v2(request)));
    const again = async () => {
      const answer = await api.trigger(v2(request));
      expect(answer.statusCode).toBe(202);
      return bodyIn(answer);
    };
    for (let n = 0; n < 5; n += 1) expect(await again()).toMatchObject({ id: first['id'], repeated: true });
    const [execution] = api.executions.started;
    expect(execution?.name).toBe(executionName(String(first['id']), 1));
    api.executions.end(DEPLOYED.stateMachineArn, execution?.name ?? '', {
      status: 'SUCCEEDED',
      output: '{}',
    });
    for (let n = 0; n < 5; n += 1) expect(await again()).toMatchObject({ id: first['id'], repeated: true });
    expect((await api.trigger(v2(startRequest({ order: 'o-2' })))).statusCode).toBe(409);
    expect(api.executions.started).toHaveLength(1);
    expect(log.entries().filter(({ message }) => message === 'request was seen before')).toHaveLength(10);
  });

  test.each(['succeeded', 'failed', 'held'])(
    'H04 the repeat of a %s run tells its state and starts nothing',
    async (status) => {
      printed();
      const api = httpApi();
      const first = bodyIn(await api.trigger(v2(startRequest({ a: 1 }))));
      const run = api.store.items().find(({ SK }) => SK === 'RUN');
      if (run) await api.store.put({ item: { ...run, status }, when: { all: [] } });
      const answer = bodyIn(await api.trigger(v2(startRequest({ a: 1 }))));
      expect(answer).toMatchObject({ id: first['id'], status, repeated: true });
      expect(api.executions.started).toHaveLength(1);
    },
  );

  const cuts = ['put', 'get'].flatMap((name) =>
    [1, 2].flatMap((number) => [true, false].map((applied) => ({ name, number, applied }))),
  );
  test.each(cuts)(
    'H04 cut at $name $number (applied: $applied): the same request again is the same run',
    async ({ name, number, applied }) => {
      printed();
      const real = httpApi();
      let on = true;
      const hit = (call: { name: string; number: number }) =>
        on && call.name === name && call.number === number;
      const api = apiOn({
        ...real,
        store: unreliableStore(real.store, {
          before: (call) => (hit(call) && !applied ? Promise.reject(new PortUnavailable('cut')) : undefined),
          lost: (call) => hit(call) && applied,
        }),
      });
      const answers = [];
      for (let n = 0; n < 3; n += 1) answers.push(await api.trigger(v2(startRequest({ a: 1 }))));
      on = false;
      answers.push(await api.trigger(v2(startRequest({ a: 1 }))));
      for (const answer of answers) {
        expect([202, 503]).toContain(answer.statusCode);
        if (answer.statusCode === 503) expect(answer.headers?.['retry-after']).toBe('2');
      }
      expect(
        new Set(answers.filter(({ statusCode }) => statusCode === 202).map((one) => bodyIn(one)['id'])).size,
      ).toBe(1);
      expect(real.executions.started).toHaveLength(1);
      expect(real.store.items().filter(({ SK }) => SK === 'RUN')).toHaveLength(1);
    },
  );

  test('H04 a throttled start is 429 with Retry-After, and the same request is the same run later', async () => {
    printed();
    const api = httpApi();
    api.executions.throttle(true);
    const answer = await api.trigger(v2(startRequest({ a: 1 })));
    expect(answer).toMatchObject({ statusCode: 429, headers: { 'retry-after': '2' } });
    api.executions.throttle(false);
    expect((await api.trigger(v2(startRequest({ a: 1 })))).statusCode).toBe(202);
    expect(api.executions.started).toHaveLength(1);
  });
});

describe('H24 expiry of keys', () => {
  const MONTH_MS = 30 * 86_400_000;
  test.each([
    ['a second before its expiry a key holds', MONTH_MS - 1000, 1],
    ['from its expiry on it is new, although its row is still there', MONTH_MS, 2],
    ['long after too', 2 * MONTH_MS, 2],
  ])('H24 %s', async (_name, later, runs) => {
    printed();
    const api = httpApi();
    await api.trigger(v2(startRequest({ a: 1 })));
    pass(later);
    // Another body: a key that holds refuses it, an expired one knows nothing of the first.
    const answer = await api.trigger(v2(startRequest({ a: 2 })));
    expect(answer.statusCode).toBe(runs === 1 ? 409 : 202);
    expect(api.executions.started).toHaveLength(runs);
  });

  test('H24 expiries are whole seconds of ten digits, an hour to a year ahead', async () => {
    printed();
    const api = httpApi();
    await api.trigger(v2(startRequest({ a: 1 })));
    const key = api.store.items().find(({ SK }) => SK === 'KEY');
    const now = Date.now() / 1000;
    expect(key?.['expiresAt']).toSatisfy(Number.isInteger);
    expect(String(key?.['expiresAt'])).toHaveLength(10);
    // Longer than a message may lie in its queue (4 days) and among the dead letters (14).
    expect(key?.['expiresAt']).toBeGreaterThan(now + 18 * 86_400);
    expect(key?.['expiresAt']).toBeLessThan(now + 365 * 86_400);
    // An open run never expires.
    expect(api.store.items().find(({ SK }) => SK === 'RUN')).not.toHaveProperty('expiresAt');
  });
});
