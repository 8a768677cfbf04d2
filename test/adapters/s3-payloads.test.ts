import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { placeOf } from '#adapters/payload-pointer.ts';
import { s3Payloads } from '#adapters/s3-payloads.ts';
import { EdowError, PayloadGone, PortUnavailable } from '#core/errors.ts';
import type { Payloads } from '#core/ports.ts';

/** Stands for S3: gives these answers in turn (`cut`: breaks the connection), then 200 with an empty body. */
const answers: ({ status: number; body: string } | 'cut')[] = [];
const requests: { method?: string; url?: string; headers: IncomingHttpHeaders; body: string }[] = [];
const counted: string[] = [];
let server: Server;
let payloads: Payloads;

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      requests.push({ method, url, headers, body });
      const answer = answers.shift() ?? { status: 200, body: '' };
      if (answer === 'cut') request.socket.destroy();
      else response.writeHead(answer.status).end(answer.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  payloads = s3Payloads({
    bucket: 'bucket',
    region: 'eu-west-1',
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    credentials: async () => ({ accessKeyId: 'AKIA', secretAccessKey: 's', sessionToken: 't' }),
    ids: { random: () => 0 },
    onRequest: (name) => counted.push(name),
  });
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  for (const list of [answers, requests, counted]) list.length = 0;
});

const refusal = (status: number, code: string) => ({
  status,
  body: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>a secret</Message></Error>`,
});
const { pointer } = placeOf('bucket', 'k/x', '1');

test('a text lies below its key by its hash', async () => {
  const put = await payloads.put('acme/01RUN/input é.json', '{"a":"✓"}');
  const [, key, hash] = /^s3:\/\/bucket\/(.+)#([0-9a-f]{64})$/.exec(put) ?? [];
  expect(key).toBe(`payloads/acme/01RUN/input é.json/${hash?.slice(0, 32)}`);
  expect(requests).toEqual([
    {
      method: 'PUT',
      url: `/bucket/payloads/acme/01RUN/input%20%C3%A9.json/${hash?.slice(0, 32)}`,
      headers: expect.objectContaining({
        'content-type': 'application/json',
        'x-amz-content-sha256': hash,
        'x-amz-security-token': 't',
        authorization: expect.stringMatching(/^AWS4-HMAC-SHA256 Credential=AKIA\/\d{8}\/eu-west-1\/s3\//),
      }),
      body: '{"a":"✓"}',
    },
  ]);
  expect(counted).toEqual(['S3.PutObject']);
});

test('what a pointer names is read and checked', async () => {
  answers.push({ status: 200, body: '1' }, { status: 200, body: '2' });
  expect(await payloads.get(pointer, 'k')).toBe('1');
  await expect(payloads.get(pointer, 'k')).rejects.toThrow('a payload is not what its pointer says');
  expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual(
    Array(2).fill(`GET ${pointer.replace('s3:/', '').replace(/#.*/, '')}`),
  );
});

test('nothing is asked for that is not ours', async () => {
  await expect(payloads.get(pointer.replace('bucket', 'other'), 'k')).rejects.toThrow(PayloadGone);
  await expect(payloads.put('../x', '1')).rejects.toThrow(EdowError);
  expect(requests).toEqual([]);
});

describe('what S3 answers', () => {
  test.each([
    ['NoSuchKey', 404, PayloadGone, 1],
    ['AccessDenied', 403, PortUnavailable, 1],
    ['NoSuchBucket', 404, EdowError, 1],
    ['SlowDown', 503, PortUnavailable, 2],
    ['InternalError', 500, PortUnavailable, 2],
  ])('%s', async (code, status, kind, asked) => {
    answers.push(refusal(status, code), refusal(status, code));
    const thrown = await payloads.get(pointer, 'k').catch((error: unknown) => error);
    expect((thrown as Error).constructor).toBe(kind);
    expect((thrown as Error).message).not.toContain('secret');
    expect(requests).toHaveLength(asked);
  });

  test('no permission to write is not for ever either', async () => {
    answers.push(refusal(403, 'AccessDenied'));
    await expect(payloads.put('k', '1')).rejects.toThrow(PortUnavailable);
  });

  test('an answer that is no error document, and a redirect', async () => {
    answers.push({ status: 400, body: '' });
    await expect(payloads.get(pointer, 'k')).rejects.toThrow('GetObject was refused: Status400');
    answers.push({ status: 307, body: '' }, { status: 307, body: '' });
    await expect(payloads.get(pointer, 'k')).rejects.toThrow();
  });

  test('a lost connection is tried once more', async () => {
    answers.push('cut', { status: 200, body: '1' });
    expect(await payloads.get(pointer, 'k')).toBe('1');
    answers.push('cut', 'cut');
    await expect(payloads.put('k', '1')).rejects.toThrow(PortUnavailable);
    expect(counted).toEqual(['S3.GetObject', 'S3.GetObject', 'S3.PutObject', 'S3.PutObject']);
  });
});
