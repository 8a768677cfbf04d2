/**
 * Field cases of the body at the trigger: the door's part of H15, H16, H17 and H18. What is accepted is
 * followed to the worker and on in payloads.test.ts. H18's approvals are open until there are any.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { bodyIn, httpApi, pointersIn, startRequest, v2 } from '#test/http-fixtures.ts';
import { printed, virtualTime } from '#test/pool-fixtures.ts';

beforeEach(virtualTime);

const inputOf = (api: ReturnType<typeof httpApi>): string =>
  String(api.store.items().find(({ SK }) => SK === 'RUN')?.['input']);

describe('H15 control characters and apostrophes in the payload', () => {
  const codes = [0x00, 0x01, 0x07, 0x0b, 0x1f, 0x7f, 0x85, 0x2028, 0xfffe, 0xffff];
  const texts = [
    ...codes.map((code) => String.fromCharCode(code)),
    `O'Neil \\ " $x #set {a} <b>&amp;`,
    '😀é',
  ];

  test.each(texts)('H15 %j in a field, escaped or not, is kept as it is', async (text) => {
    printed();
    const escaped = text.replace(
      /[^ -~]/g,
      (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
    const json = JSON.stringify({ name: text, list: [text], [`member ${text}`]: 1 });
    for (const body of [
      json,
      JSON.stringify({ name: text }).replace(
        JSON.stringify(text),
        `"${escaped.replace(/["\\](?!u)/g, '\\$&')}"`,
      ),
    ]) {
      const api = httpApi();
      const answer = await api.trigger(v2(startRequest(body)));
      expect(answer.statusCode).toBe(202);
      expect(JSON.parse(inputOf(api))).toEqual(JSON.parse(body));
      expect(JSON.parse(inputOf(api)).name).toBe(text);
    }
  });

  test.each(['"\\ud83d"', '"\\udc00x"', '{"\\ud83d":1}'])(
    'H15 half a character (%s) is refused, naming its place',
    async (value) => {
      printed();
      const api = httpApi();
      const answer = await api.trigger(v2(startRequest(`{"order":{"names":[1,${value}]}}`)));
      expect(answer.statusCode).toBe(400);
      expect(pointersIn(answer)[0]).toMatch(/^#\/order\/names\/1/);
      expect(api.executions.started).toEqual([]);
    },
  );

  test.each([`O'Neil \\ " $x #set {a} <b>&amp;`, "'", '`~!@#$%^&*()_+-={}[]|:;<>?./'])(
    'H15 the key %s is a key like any other',
    async (key) => {
      printed();
      const api = httpApi();
      expect((await api.trigger(v2(startRequest({ a: 1 }, key)))).statusCode).toBe(202);
      expect((await api.trigger(v2(startRequest({ a: 2 }, key)))).statusCode).toBe(409);
    },
  );

  test.each(codes)('H15 a key with the character %i is refused with 400', async (code) => {
    printed();
    const answer = await httpApi().trigger(v2(startRequest({ a: 1 }, `k${String.fromCharCode(code)}k`)));
    expect(answer.statusCode).toBe(400);
    expect(pointersIn(answer)).toEqual(['#/header/Idempotency-Key']);
  });
});

describe('H16 numbers beyond safe range, tiny, huge or not a number', () => {
  const rounded = [
    '9007199254740993',
    '-9007199254740998.25',
    '1e400',
    '-1e400',
    '123456789012345678901234567890',
    '0.1000000000000000055',
    '1e-400',
  ];
  test.each(rounded)(
    'H16 %s would be rounded: 400 that names the field, and nothing is kept',
    async (text) => {
      printed();
      const api = httpApi();
      const answer = await api.trigger(v2(startRequest(`{"lines":[{"amount":1},{"amount":${text}}]}`)));
      expect(answer.statusCode).toBe(400);
      expect(pointersIn(answer)).toEqual(['#/lines/1/amount']);
      expect(answer.body).not.toContain(text);
      expect(api.store.items()).toEqual([]);
    },
  );

  test.each(['NaN', 'Infinity', '-Infinity', '+1', '01', '.5', '1.', '0x10', '1_000'])(
    'H16 %s is no JSON number: 400',
    async (text) => {
      printed();
      const api = httpApi();
      expect((await api.trigger(v2(startRequest(`{"amount":${text}}`)))).statusCode).toBe(400);
      expect(api.store.items()).toEqual([]);
    },
  );

  test.each([
    '1e40',
    '1e-7',
    '-0',
    '0',
    '9007199254740991',
    '-9007199254740991',
    '1.7976931348623157e308',
    '5e-324',
    '123456.789',
    '1E+2',
  ])('H16 %s is kept exactly', async (text) => {
    printed();
    const api = httpApi();
    expect((await api.trigger(v2(startRequest(`{"amount":${text}}`)))).statusCode).toBe(202);
    expect(JSON.parse(inputOf(api)).amount).toBe(Number(text) + 0);
  });
});

describe('H17 empty strings, empty lists, null against missing', () => {
  test('H17 what is empty or null is kept so, what is missing stays missing', async () => {
    printed();
    const value = {
      text: '',
      list: [],
      object: {},
      none: null,
      deep: { text: '', tags: [], none: [null, '', {}] },
    };
    const api = httpApi();
    expect((await api.trigger(v2(startRequest(value)))).statusCode).toBe(202);
    expect(JSON.parse(inputOf(api))).toEqual(value);
    expect(inputOf(api)).not.toContain('missing');
  });

  test.each([
    ['{"a":null}', '{}'],
    ['{"a":""}', '{"a":null}'],
    ['{"a":[]}', '{"a":{}}'],
    ['{"a":[null]}', '{"a":[]}'],
    ['{"a":0}', '{"a":false}'],
  ])('H17 %s and %s are different bodies for one key', async (one, other) => {
    printed();
    const api = httpApi();
    await api.trigger(v2(startRequest(one)));
    expect((await api.trigger(v2(startRequest(other)))).statusCode).toBe(409);
  });

  test.each([
    ['an empty order id', { orderId: '' }, '#/orderId'],
    ['no order id', { orderId: undefined }, '#/orderId'],
    ['a null order id', { orderId: null }, '#/orderId'],
    ['an empty customer id', { customer: { id: '' } }, '#/customer/id'],
    ['no lines', { lines: [] }, '#/lines'],
    ['an empty sku', { lines: [{ sku: '', quantity: 1, unitPriceCents: 1 }] }, '#/lines/0/sku'],
  ])('H17 %s is refused at the door, naming the field', async (_name, changes, pointer) => {
    printed();
    const api = httpApi();
    const order = {
      orderId: 'o',
      customer: { id: 'c' },
      lines: [{ sku: 's', quantity: 1, unitPriceCents: 1 }],
    };
    const answer = await api.trigger(v2(startRequest({ ...order, ...changes }, 'k', 'order')));
    expect(answer.statusCode).toBe(422);
    expect(pointersIn(answer)).toContain(pointer);
    expect(api.executions.started).toEqual([]);
    expect((await api.trigger(v2(startRequest(order, 'k', 'order')))).statusCode).toBe(202);
  });
});

describe('H18 prototype keys in the payload', () => {
  const bodies = [
    '{"__proto__":{"approved":true,"isAdmin":true}}',
    '{"constructor":{"prototype":{"approved":true}}}',
    '{"prototype":{"approved":true}}',
    '{"order":{"__proto__":{"approved":true}}}',
    '{"list":[1,{"constructor":{"prototype":{"approved":true}}}]}',
    '{"\\u005f_proto__":{"approved":true}}',
    '{"order":{"__proto__":null}}',
  ];
  test.each(bodies)('H18 %s is refused, naming the member, and changes no other object', async (body) => {
    printed();
    const api = httpApi();
    const answer = await api.trigger(v2(startRequest(body)));
    expect(answer.statusCode).toBe(400);
    expect(pointersIn(answer)[0]).toMatch(/(__proto__|constructor|prototype)$/);
    const clean = await api.trigger(v2(startRequest({ order: {} }, 'clean')));
    expect(clean.statusCode).toBe(202);
    for (const name of ['approved', 'isAdmin']) {
      expect(({} as Record<string, unknown>)[name]).toBeUndefined();
      expect(inputOf(api)).not.toContain(name);
    }
  });

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'])(
    'H18 %s as key, value, workflow or path is a text like any other',
    async (name) => {
      printed();
      const api = httpApi();
      const first = await api.trigger(v2(startRequest({ orderId: name }, name)));
      expect(first.statusCode).toBe(202);
      expect(bodyIn(first)).toMatchObject({ repeated: false });
      expect(bodyIn(await api.trigger(v2(startRequest({ orderId: name }, name))))['id']).toBe(
        bodyIn(first)['id'],
      );
      expect((await api.trigger(v2(startRequest({}, 'k', name)))).statusCode).toBe(404);
      expect((await api.status(v2({ path: { id: name } }))).statusCode).toBe(404);
    },
  );
});
