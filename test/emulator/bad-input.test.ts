/** What nobody should send: refused with the field named, nothing started; on queues isolated, with a reason, unquoted. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commandOf } from '#core/envelope.ts';
import { taskIdOf } from '#core/items.ts';
import { MAX_BODY_BYTES } from '#runtime/trigger-http.ts';
import type { Answer, Call, ProblemBody } from '#test/cloud/api.ts';
import { type MadeCaller, makeCaller } from '#test/cloud/callers.ts';
import { feedOf } from '#test/cloud/feeds.ts';
import { logLines } from '#test/cloud/log-lines.ts';
import { anOrder, freshId } from '#test/cloud/orders.ts';
import { suite } from '#test/cloud/suite.ts';
import { RIVAL, STRANGER } from '#test/cloud/tenants.ts';
import { until } from '#test/cloud/until.ts';
import { reserveStock } from '#workflows/order/contract.ts';

const { system, http, books, stub, queues, started } = suite();

const good = anOrder('refused');
const post = (changes: Partial<Call> & { readonly headers?: Record<string, string> } = {}): Call => ({
  method: 'POST',
  path: '/workflows/order/runs',
  body: JSON.stringify(good),
  ...changes,
  headers: { 'content-type': 'application/json', ...changes.headers },
});
const keyed = (changes: Partial<Call> = {}): Call =>
  post({ ...changes, headers: { 'idempotency-key': freshId('key') } });

const pointersOf = ({ body }: Answer<ProblemBody>): string[] =>
  (body.errors ?? []).map(({ pointer }) => pointer);

interface Refusal {
  readonly what: string;
  readonly call: Call;
  readonly status: number;
  readonly code: string;
  readonly pointers?: readonly string[];
}

const withKey = (key: string) => post({ headers: { 'idempotency-key': key } });
const key = ['#/header/Idempotency-Key'];
const input = (change: object) => keyed({ body: JSON.stringify({ ...good, ...change }) });
const overLimit = JSON.stringify({ ...good, note: 'x'.repeat(MAX_BODY_BYTES) });

const refusals: readonly Refusal[] = [
  {
    what: 'a body that is not JSON',
    call: keyed({ body: '{"orderId": ' }),
    status: 400,
    code: 'body_not_json',
  },
  { what: 'no body', call: keyed({ body: '' }), status: 400, code: 'body_missing' },
  {
    what: 'a field that is missing',
    call: input({ customer: undefined }),
    status: 422,
    code: 'input_invalid',
    pointers: ['#/customer'],
  },
  {
    what: 'a field of another type',
    call: input({ orderId: 7 }),
    status: 422,
    code: 'input_invalid',
    pointers: ['#/orderId'],
  },
  {
    what: 'a field deep inside that is out of range',
    call: input({ lines: [{ sku: 'cup', quantity: 0, unitPriceCents: 1 }] }),
    status: 422,
    code: 'input_invalid',
    pointers: ['#/lines/0/quantity'],
  },
  {
    what: 'two wrong fields',
    call: input({ orderId: '', lines: [] }),
    status: 422,
    code: 'input_invalid',
    pointers: ['#/orderId', '#/lines'],
  },
  {
    what: 'a workflow that is not deployed',
    call: keyed({ path: '/workflows/nothing/runs' }),
    status: 404,
    code: 'unknown_workflow',
    pointers: ['#/path/name'],
  },
  { what: 'no key', call: post(), status: 400, code: 'idempotency_key', pointers: key },
  { what: 'an empty key', call: withKey(''), status: 400, code: 'idempotency_key', pointers: key },
  { what: 'a blank key', call: withKey('   '), status: 400, code: 'idempotency_key', pointers: key },
  { what: 'a doubled key', call: withKey('k1, k2'), status: 400, code: 'idempotency_key', pointers: key },
  {
    what: 'a key that somebody forgot to fill',
    call: withKey('undefined'),
    status: 400,
    code: 'idempotency_key',
    pointers: key,
  },
  { what: 'a body over the limit', call: keyed({ body: overLimit }), status: 413, code: 'body_too_large' },
  {
    what: 'a member that would change the object itself',
    call: keyed({ body: JSON.stringify(good).replace('{', '{"__proto__":{"admin":true},') }),
    status: 400,
    code: 'body_unsafe',
  },
];

describe('a request that is refused starts nothing', () => {
  test.each(refusals)('$what: $status $code', async ({ call, status, code, pointers = [] }) => {
    const before = { ...(await books.counted()), executions: (await books.executions()).length };
    const answer = await http.call<ProblemBody>(call);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.body).toMatchObject({ type: `urn:edow:problem:${code}`, status });
    expect(answer.body.title).toBeTruthy();
    expect(pointersOf(answer)).toEqual(expect.arrayContaining([...pointers]));
    if (code !== 'body_unsafe') expect(pointersOf(answer)).toHaveLength(pointers.length);
    expect({ ...(await books.counted()), executions: (await books.executions()).length }).toEqual(before);
  });

  test('the same key with another body: 409, and the first run is told nothing of', async () => {
    const used = freshId('key');
    const runId = await started(good, used);
    await books.runIs(runId, 'succeeded');
    const before = { ...(await books.counted()), executions: (await books.executions()).length };
    const other = { ...good, customer: { id: 'customer-2' } };
    for (let times = 0; times < 2; times += 1) {
      const answer = await http.call<ProblemBody>(
        post({ body: JSON.stringify(other), headers: { 'idempotency-key': used } }),
      );
      expect(answer.status).toBe(409);
      expect(answer.body.type).toBe('urn:edow:problem:key_reused');
      expect(JSON.stringify(answer.body)).not.toContain(runId);
    }
    // The same value in another spelling is the same request.
    const { lines, customer, orderId } = good;
    const respelled = await http.call(
      post({
        body: JSON.stringify({ lines, orderId, customer }, undefined, 2),
        headers: { 'idempotency-key': used },
      }),
    );
    expect(respelled).toMatchObject({ status: 202, body: { id: runId, repeated: true } });
    expect({ ...(await books.counted()), executions: (await books.executions()).length }).toEqual(before);
  });
});

describe('a look that is refused', () => {
  test.each([
    ['a run that never was', '/runs/01JZZZZZZZZZZZZZZZZZZZZZZZ', 404, 'unknown_run', '#/path/id'],
    ['an id that is none', '/runs/nonsense', 404, 'unknown_run', '#/path/id'],
    ['too large a page', '/runs?limit=101', 400, 'bad_query', '#/query/limit'],
    ['a page of nothing', '/runs?limit=0', 400, 'bad_query', '#/query/limit'],
    ['a status that does not exist', '/runs?status=lost', 400, 'bad_query', '#/query/status'],
  ])('%s', async (_what, path, status, code, pointer) => {
    const answer = await http.call<ProblemBody>({ path });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.body).toMatchObject({ type: `urn:edow:problem:${code}`, status });
    expect(pointersOf(answer)).toEqual([pointer]);
  });

  test('a cursor that nobody gave out is refused or ignored, never an internal error', async () => {
    for (const cursor of ['x', '%00', 'eyJQSyI6InNlY3JldCJ9', 'a'.repeat(2000)]) {
      const { status } = await http.call({ path: `/runs?cursor=${cursor}` });
      expect([200, 400]).toContain(status);
    }
  });
});

describe('callers', () => {
  let rival: MadeCaller;
  let stranger: MadeCaller;
  let unallowed: MadeCaller;
  beforeAll(async () => {
    rival = await makeCaller(system, RIVAL, true);
    stranger = await makeCaller(system, STRANGER, true);
    unallowed = await makeCaller(system, freshId('edow-test-unallowed'), false);
  });
  afterAll(async () => {
    for (const caller of [rival, stranger, unallowed]) await caller?.remove();
  });

  const nothingStarts = async (call: () => Promise<{ readonly status: number }>, status: number) => {
    const before = { ...(await books.counted()), executions: (await books.executions()).length };
    expect((await call()).status).toBe(status);
    expect({ ...(await books.counted()), executions: (await books.executions()).length }).toEqual(before);
  };

  test('unsigned, forged and unallowed calls: 403', async () => {
    await nothingStarts(() => http.call(keyed({ caller: 'unsigned' })), 403);
    await nothingStarts(() => http.call({ path: '/runs', caller: 'unsigned' }), 403);
    await nothingStarts(() => http.call(keyed({ caller: { ...rival, secretAccessKey: 'wrong' } })), 403);
    await nothingStarts(() => http.call(keyed({ caller: unallowed })), 403);
  });

  test.runIf(system.target.mapsTenants)(
    'a caller that belongs to no tenant: 403, as problem+json',
    async () => {
      await nothingStarts(() => http.call(keyed({ caller: stranger })), 403);
      const answer = await http.call<ProblemBody>({ path: '/runs', caller: stranger });
      expect(answer.body.type).toBe('urn:edow:problem:no_tenant');
    },
  );

  test.runIf(system.target.mapsTenants)(
    "another tenant's run is as unknown as one that never was, and its key is another key",
    async () => {
      const used = freshId('key');
      const runId = await started(good, used);
      const answer = await http.call<ProblemBody>({ path: `/runs/${runId}`, caller: rival });
      const never = await http.call<ProblemBody>({ path: '/runs/01JZZZZZZZZZZZZZZZZZZZZZZZ', caller: rival });
      expect(answer.status).toBe(404);
      expect(answer.body).toEqual(never.body);
      const theirs = await http.call<{ id: string }>(
        post({ headers: { 'idempotency-key': used }, caller: rival }),
      );
      expect(theirs.status).toBe(202);
      expect(theirs.body.id).not.toBe(runId);
      expect((await books.run(theirs.body.id))?.tenant).toBe('rival');
      // No header and no body names a tenant.
      const claimed = await http.call<{ id: string }>(
        post({
          body: JSON.stringify({ ...good, tenant: 'shop' }),
          headers: { 'idempotency-key': freshId('key'), tenant: 'shop', 'x-tenant': 'shop' },
          caller: rival,
        }),
      );
      expect((await books.run(claimed.body.id))?.tenant).toBe('rival');
      const listed = await until('the rival sees its own runs', async () => {
        const { body } = await http.call<{ runs: { id: string }[] }>({
          path: '/runs?limit=100',
          caller: rival,
        });
        return body.runs.length >= 2 ? body.runs.map(({ id }) => id) : undefined;
      });
      expect(listed).not.toContain(runId);
      for (const id of [runId, theirs.body.id, claimed.body.id]) await books.runIs(id, 'succeeded');
    },
  );
});

describe('messages that are no commands of ours', () => {
  const secret = 'iban-DE02120300000000202051';
  const envelope = (changes: object = {}) => ({
    ...commandOf({
      taskId: taskIdOf('01JZZZZZZZZZZZZZZZZZZZZZZZ', 'ReserveStock'),
      workflow: 'order',
      runId: '01JZZZZZZZZZZZZZZZZZZZZZZZ',
      stepKey: 'ReserveStock',
      contract: { type: reserveStock.type, version: 1, tries: 5 },
      tenant: 'default',
      correlationId: 'c',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      execution: 10_000,
      entry: 0,
      enteredAt: Date.now(),
      deadline: Date.now() + 60_000,
      data: { secret },
    }),
    ...changes,
  });
  const malformed: readonly (readonly [problem: string, body: string])[] = [
    ['the body is not JSON', `{"secret": "${secret}`],
    ['the envelope is missing or malformed', JSON.stringify(secret)],
    ['attribute "specversion" is missing or malformed', JSON.stringify({ secret })],
    ['attribute "runid" is missing or malformed', JSON.stringify(envelope({ runid: { secret } }))],
    ['the id is not that of the run and step', JSON.stringify(envelope({ id: secret }))],
    ['exactly one of "data" and "dataref" must be there', JSON.stringify(envelope({ dataref: secret }))],
    ['no handler for this command type', JSON.stringify(envelope({ type: 'inventory.stock.count' }))],
    ['no step on record for this command', JSON.stringify(envelope())],
  ];

  test('stand alone: dead letters with a reason, the batch around them done, and never quoted', async () => {
    const { work, dead } = queues('inventory');
    const lettersBefore = await dead.total();
    const since = Date.now();
    const feed = await feedOf(system, 'worker-inventory', ':sqs:');
    // All in the queue before the function sees any: they come in the same batches.
    await feed(false);
    const ids: string[] = [];
    let orders: string[];
    try {
      orders = [await started(anOrder('among')), await started(anOrder('among'))];
      for (const [, body] of malformed) ids.push(await work.send(body));
      await until('all of them wait', async () =>
        (await work.depth()).waiting >= malformed.length + orders.length ? true : undefined,
      );
    } finally {
      await feed(true);
    }
    for (const id of orders) {
      await books.runIs(id, 'succeeded');
      expect((await books.partition(id)).step('ReserveStock')).toMatchObject({ fence: 1, tries: 1 });
      expect(await stub.booked(id, 'ReserveStock')).toEqual({ calls: 1, effects: 1, taken: 1 });
    }
    for (const [index, id] of ids.entries()) {
      const letter = await dead.received(({ MessageId }) => MessageId === id);
      expect(letter.Body).toBe(malformed[index]?.[1]);
      await dead.remove(letter);
    }
    expect(await dead.total()).toBe(lettersBefore);
    await work.empty();

    const lines = (await logLines(system, 'worker-inventory', since)).filter((line) =>
      line.includes('"message"'),
    );
    const reasons = new Map(ids.map((id) => [id, new Set<string>()]));
    const requests = new Map<string, Set<string>>();
    for (const line of lines) {
      expect(line).not.toContain(secret);
      const entry = JSON.parse(line.slice(line.indexOf('{'))) as Record<string, string>;
      const { message = '', problem, request = '' } = entry;
      const id = ids.find((one) => line.includes(one));
      if (id) reasons.get(id)?.add(problem ?? message);
      if (id || orders.some((order) => line.includes(order)))
        requests.set(request, (requests.get(request) ?? new Set()).add(id ? 'malformed' : 'order'));
    }
    expect([...reasons.values()].map((said) => [...said])).toEqual(malformed.map(([reason]) => [reason]));
    // At least one call of the function had both kinds in its hands.
    expect([...requests.values()].some((kinds) => kinds.size === 2)).toBe(true);
  });
});
