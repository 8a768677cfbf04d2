import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, describe, expect, test } from 'vitest';
import { placeOf } from '#adapters/payload-pointer.ts';
import { s3Payloads } from '#adapters/s3-payloads.ts';
import { EdowError, PayloadGone, PortUnavailable } from '#core/errors.ts';

const mock = mockClient(S3Client);
afterEach(() => mock.reset());
const payloads = s3Payloads('bucket');

const s3Error = (name: string, status: number): Error =>
  Object.assign(new Error('x'), {
    name,
    $fault: status < 500 ? 'client' : 'server',
    $metadata: { httpStatusCode: status },
  });

test('the client is made by the first call, once, and not before', async () => {
  mock.onAnyCommand().resolves({});
  const opened: S3Client[] = [];
  const lazy = s3Payloads('bucket', (client) => opened.push(client));
  await expect(lazy.get('s3://other/payloads/x')).rejects.toThrow(PayloadGone);
  await expect(lazy.put('../x', '1')).rejects.toThrow(EdowError);
  expect(opened).toEqual([]);
  await Promise.all([lazy.put('a', '1'), lazy.put('b', '2')]);
  expect(opened).toEqual([expect.any(S3Client)]);
});

test('a text lies below its key by its hash', async () => {
  mock.on(PutObjectCommand).resolves({});
  const pointer = await payloads.put('acme/01RUN/input.json', '{"a":1}');
  const hash = '015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862';
  const key = `payloads/acme/01RUN/input.json/${hash.slice(0, 32)}`;
  expect(pointer).toBe(`s3://bucket/${key}#${hash}`);
  expect(mock.call(0).args[0].input).toEqual({
    Bucket: 'bucket',
    Key: key,
    Body: '{"a":1}',
    ContentType: 'application/json',
  });
});

describe('what S3 answers', () => {
  const { pointer } = placeOf('bucket', 'k', '1');
  test.each([
    ['NoSuchKey', 404, PayloadGone],
    ['AccessDenied', 403, PortUnavailable],
    ['SlowDown', 503, PortUnavailable],
    ['InternalError', 500, PortUnavailable],
    ['NoSuchBucket', 404, EdowError],
  ])('%s', async (name, status, kind) => {
    mock.onAnyCommand().rejects(s3Error(name, status));
    const thrown = await payloads.get(pointer).catch((error: unknown) => error);
    expect((thrown as Error).constructor).toBe(kind);
  });

  test('no permission to write is not for ever either', async () => {
    mock.on(PutObjectCommand).rejects(s3Error('AccessDenied', 403));
    await expect(payloads.put('k', '1')).rejects.toThrow(PortUnavailable);
  });

  test('a connection that breaks while the body is read', async () => {
    const transformToString = async (): Promise<string> => {
      throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
    };
    mock.on(GetObjectCommand).resolves({ Body: { transformToString } as never });
    await expect(payloads.get(pointer)).rejects.toThrow(PortUnavailable);
  });

  test('another content than the hash says', async () => {
    mock.on(GetObjectCommand).resolves({ Body: { transformToString: async () => '2' } as never });
    await expect(payloads.get(pointer)).rejects.toThrow(PayloadGone);
    mock.on(GetObjectCommand).resolves({ Body: { transformToString: async () => '1' } as never });
    expect(await payloads.get(pointer)).toBe('1');
  });
});
