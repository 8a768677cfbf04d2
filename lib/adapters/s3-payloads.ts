/** Payloads in S3. Its client is the largest of all: it is loaded by the first call, not by the cold start. */
import type { S3Client } from '@aws-sdk/client-s3';
import { PayloadGone, PortUnavailable } from '#core/errors.ts';
import type { Payloads } from '#core/ports.ts';
import { call } from './call.ts';
import { CLIENT } from './client-config.ts';
import { placeOf, readPointer, sha256 } from './payload-pointer.ts';

type Sdk = typeof import('@aws-sdk/client-s3');

const GONE = new Set(['NoSuchKey', 'NotFound']);

/** No permission is a fault of the deployment, not of the payload: it is there again when that is mended. */
function failed(name: string, cause: unknown): undefined {
  if (name === 'AccessDenied')
    throw new PortUnavailable('the payload bucket is unavailable: AccessDenied', { cause });
  if (GONE.has(name)) throw new PayloadGone('the payload that a pointer names is not there');
}

/**
 * Reading needs `s3:ListBucket` beside `s3:GetObject`: without it S3 answers AccessDenied for an object that is
 * not there, and a lost payload would be asked for again and again.
 * @param opened for tests and meters: gets the client when it is made
 */
export function s3Payloads(bucket: string, opened: (client: S3Client) => void = () => {}): Payloads {
  let loading: Promise<{ sdk: Sdk; client: S3Client }> | undefined;
  const load = () => {
    loading ??= import('@aws-sdk/client-s3').then((sdk) => {
      const client = new sdk.S3Client(CLIENT);
      opened(client);
      return { sdk, client };
    });
    return loading;
  };

  return {
    async put(key, text) {
      const place = placeOf(bucket, key, text);
      const { sdk, client } = await load();
      const command = new sdk.PutObjectCommand({
        Bucket: bucket,
        Key: place.key,
        Body: text,
        ContentType: 'application/json',
      });
      await call('PutObject', () => client.send(command), failed);
      return place.pointer;
    },

    async get(pointer) {
      const { key, hash } = readPointer(bucket, pointer);
      const { sdk, client } = await load();
      const command = new sdk.GetObjectCommand({ Bucket: bucket, Key: key });
      // The body is part of the call: a connection may break while it is read.
      const read = async () => (await client.send(command)).Body?.transformToString('utf-8') ?? '';
      const text = await call('GetObject', read, failed);
      if (sha256(text) !== hash)
        throw new PayloadGone('a payload is not what its pointer says: its hash differs');
      return text;
    },
  };
}
