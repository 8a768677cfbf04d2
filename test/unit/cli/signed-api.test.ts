import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { signedApi } from '#cli/aws/signed-api.ts';
import type { Api } from '#cli/ports.ts';

interface Received {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

let received: Received[] = [];
let answer = { status: 200, body: '{}' };
let api: Api;
const server = createServer(async (request, response) => {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const { method, url, headers } = request;
  received.push({ method, url, headers, body: Buffer.concat(parts).toString() });
  response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
});

beforeEach(async () => {
  received = [];
  answer = { status: 200, body: '{}' };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  api = signedApi(`http://127.0.0.1:${port}/_aws/execute-api/a1/$default`, 'eu-central-1', {
    accessKeyId: 'AKIDEXAMPLE',
    secretAccessKey: 'secret',
    sessionToken: 'session',
  });
});
afterEach(() => new Promise((resolve) => server.close(resolve)));

describe('requests', () => {
  test('are signed for execute-api, with the session; body and key arrive as they were given', async () => {
    await api.start('order', 'key 1', '{"a": 1.0, "ä": 2}');
    const [request] = received;
    expect(request?.method).toBe('POST');
    expect(request?.url).toBe('/_aws/execute-api/a1/$default/workflows/order/runs');
    expect(request?.body).toBe('{"a": 1.0, "ä": 2}');
    expect(request?.headers['idempotency-key']).toBe('key 1');
    expect(request?.headers['x-amz-security-token']).toBe('session');
    expect(request?.headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-central-1\/execute-api\/aws4_request, SignedHeaders=\S*idempotency-key\S*, Signature=[0-9a-f]{64}$/,
    );
  });

  test('the signature depends on the body', async () => {
    await api.start('order', 'k', '{}');
    await api.start('order', 'k', '[]');
    const [first, second] = received.map(({ headers }) => headers['x-amz-content-sha256']);
    expect(first).not.toBe(second);
  });

  test('filters become a query, a run id a path', async () => {
    await api.runs({ workflow: 'order', status: 'held', limit: 5, cursor: 'a b/c' });
    await api.runs({});
    await api.run('01M8MJH2GRNCRTQZXW4FXC62VM');
    expect(received.map(({ url }) => url?.replace('/_aws/execute-api/a1/$default', ''))).toEqual([
      '/runs?workflow=order&status=held&limit=5&cursor=a%20b%2Fc',
      '/runs',
      '/runs/01M8MJH2GRNCRTQZXW4FXC62VM',
    ]);
  });
});

describe('refusals', () => {
  const refused = async (status: number, body: object | string) => {
    answer = { status, body: typeof body === 'string' ? body : JSON.stringify(body) };
    return api.run('x').then(
      () => undefined,
      (error) => error,
    );
  };

  test('a problem+json body: its code, its detail, the fields that say more, and what to do', async () => {
    const error = await refused(422, {
      type: 'urn:edow:problem:input_invalid',
      detail: 'the body does not fit',
      errors: [{ pointer: '#/lines', detail: 'Invalid input' }],
    });
    expect(error).toMatchObject({
      code: 'input_invalid',
      message: 'the API answered 422: the body does not fit; #/lines Invalid input',
      nextStep: expect.stringContaining('contract.ts'),
    });
  });

  test('what only repeats the detail is left out', async () => {
    const error = await refused(404, {
      type: 'urn:edow:problem:unknown_run',
      detail: 'there is no run of this id',
      errors: [{ pointer: '#/path/id', detail: 'no run of this id' }],
    });
    expect(error).toMatchObject({
      code: 'unknown_run',
      message: 'the API answered 404: there is no run of this id',
      nextStep: expect.stringContaining('npx edow runs'),
    });
  });

  test("a gateway's own refusal", async () => {
    expect(await refused(403, { message: 'Forbidden' })).toMatchObject({
      code: 'http_403',
      message: 'the API answered 403: Forbidden',
      nextStep: expect.stringContaining('execute-api:Invoke'),
    });
    expect(await refused(502, '<html>')).toMatchObject({
      code: 'http_502',
      message: 'the API answered 502: Bad Gateway',
      nextStep: expect.stringContaining('npx edow logs'),
    });
  });
});
