/**
 * Field cases of a body's bytes at the trigger, in both formats of API Gateway: H19 and the body limit of H21. Binary data
 * in an envelope (`data_base64`) is refused by the workers: worker-batch.test.ts. The other thresholds of H21 are in
 * payloads.test.ts.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { MAX_BODY_BYTES } from '#runtime/trigger-http.ts';
import { bodyIn, FORMATS, httpApi, startRequest } from '#test/http-fixtures.ts';
import { printed, virtualTime } from '#test/pool-fixtures.ts';

beforeEach(virtualTime);

const inputOf = (api: ReturnType<typeof httpApi>): string =>
  String(api.store.items().find(({ SK }) => SK === 'RUN')?.['input']);

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
    ['half a character of UTF-8', coded(Buffer.from('7b2261223a22f09f98227d', 'hex')), true],
    ['an overlong slash', coded(Buffer.from('7b2261223a22c0af227d', 'hex')), true],
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
