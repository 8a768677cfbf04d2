/**
 * Field cases of the body at the trigger: the door's part of H15, H16, H17, H18, H19 and H21. What is accepted is
 * followed to the worker and on in payloads.test.ts. H18's approvals are open until there are any.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { MAX_BODY_BYTES } from '#runtime/trigger-http.ts';
import { bodyIn, FORMATS, httpApi, pointersIn, startRequest, v2 } from '#test/http-fixtures.ts';
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

describe.each(FORMATS)('H19 base64 bodies, wrong flags, invalid base64: $format', ({ event }) => {
  const json = '{"a":"é😀"}';
  const coded = (bytes: string | Buffer) => Buffer.from(bytes).toString('base64');
  const sent = (body: string | null, base64: boolean) => event({ ...startRequest({}), body, base64 });

  test('H19 true and base64 of valid JSON is the JSON', async () => {
    printed();
    const api = httpApi();
    expect((await api.trigger(sent(coded(json), true))).statusCode).toBe(202);
    expect(JSON.parse(inputOf(api))).toEqual(JSON.parse(json));
    expect((await api.trigger(sent(json, false))).statusCode).toBe(202);
    expect(api.executions.started).toHaveLength(1);
  });

  test.each<[string, string | null, boolean]>([
    ['true and @@@', '@@@', true],
    ['true and plain JSON', json, true],
    ['true and base64 without its end', coded(json).slice(0, -1), true],
    ['true and the alphabet of URLs', Buffer.from('{"a":"???>>>"}').toString('base64url'), true],
    ['true and stray bits at the end', 'e31=', true],
    ['true and a line break', `${coded(json)}\n`, true],
    ['false and base64', coded(json), false],
    ['no body', null, false],
    ['no body, marked as base64', null, true],
    ['an empty body', '', false],
    ['invalid UTF-8', '/w==', true],
    ['half a character of UTF-8', coded(Buffer.from([0x22, 0xf0, 0x9f, 0x98, 0x22])), true],
    ['an overlong slash', coded(Buffer.from([0x22, 0xc0, 0xaf, 0x22])), true],
    ['a byte order mark', `\ufeff${json}`, false],
    ['a byte order mark in base64', coded(`\ufeff${json}`), true],
    ['UTF-16', coded(Buffer.from(json, 'utf16le')), true],
    ['a text', '"text"', false],
    ['a list', '[]', false],
    ['null', 'null', false],
    ['two JSON texts', '{}{}', false],
    ['5,000 levels', '['.repeat(5000) + ']'.repeat(5000), false],
    ['100,000 levels without an end', '['.repeat(100_000), false],
    ['101 levels in an object', `{"a":${'['.repeat(100)}${']'.repeat(100)}}`, false],
  ])('H19 %s: refused, nothing started', async (_name, body, base64) => {
    printed();
    const api = httpApi();
    const answer = await api.trigger(sent(body, base64));
    expect([400, 422]).toContain(answer.statusCode);
    expect(answer.headers?.['content-type']).toBe('application/problem+json');
    expect(api.store.items()).toEqual([]);
  });

  test('H21 200 KB are taken and one byte more is not, counted in UTF-8 bytes after decoding', async () => {
    printed();
    const filled = (bytes: number, filler: string): string => {
      const room = bytes - Buffer.byteLength('{"a":""}');
      const size = Buffer.byteLength(filler);
      return `{"a":"${filler.repeat(Math.floor(room / size))}${'x'.repeat(room % size)}"}`;
    };
    for (const filler of ['x', 'é', '😀'])
      for (const base64 of [false, true])
        for (const [bytes, status] of [
          [MAX_BODY_BYTES - 1, 202],
          [MAX_BODY_BYTES, 202],
          [MAX_BODY_BYTES + 1, 413],
        ] as const) {
          const body = filled(bytes, filler);
          expect(Buffer.byteLength(body)).toBe(bytes);
          const api = httpApi();
          expect((await api.trigger(sent(base64 ? coded(body) : body, base64))).statusCode).toBe(status);
          expect(api.executions.started).toHaveLength(status === 202 ? 1 : 0);
        }
    const emoji = JSON.stringify({ a: '😀'.repeat(70_000) });
    expect((await httpApi().trigger(sent(emoji, false))).statusCode).toBe(413);
    expect((await httpApi().trigger(sent('x'.repeat(2_000_000), false))).statusCode).toBe(413);
  });

  test.each([
    [{}],
    [{ version: '2.0' }],
    [{ body: 7, isBase64Encoded: 'true' }],
    [{ requestContext: null, pathParameters: null }],
    ['x'],
  ])('H19 an event that is %j is answered', async (odd) => {
    printed();
    const api = httpApi();
    for (const entry of [api.trigger, api.status]) {
      const answer = await entry(odd as never);
      expect([400, 403, 404]).toContain(answer.statusCode);
      expect(bodyIn(answer)).toMatchObject({ type: expect.stringMatching(/^urn:edow:problem:/) });
    }
  });
});
