/** Payloads in S3. */
import { PayloadGone, PortUnavailable } from '#core/errors.ts';
import type { Payloads } from '#core/ports.ts';
import { call } from './call.ts';
import { packed, unpacked } from './payload-body.ts';
import { placeOf, readPointer, sha256 } from './payload-pointer.ts';
import { type ObjectsParts, s3Objects } from './s3-objects.ts';

const GONE = new Set(['NoSuchKey', 'NotFound', 'TooLong']);

/** No permission is a fault of the deployment, not of the payload: it is there again when that is mended. */
function failed(name: string, cause: unknown): undefined {
  if (name === 'AccessDenied')
    throw new PortUnavailable('the payload bucket is unavailable: AccessDenied', { cause });
  if (GONE.has(name)) throw new PayloadGone('the payload that a pointer names is not there, or too long');
}

/**
 * Reading needs `s3:ListBucket` beside `s3:GetObject`: without it S3 answers AccessDenied for an object that is
 * not there, and a lost payload would be asked for again and again.
 */
export function s3Payloads(parts: ObjectsParts): Payloads {
  const { bucket } = parts;
  const objects = s3Objects(parts);
  return {
    async put(key, text) {
      const place = placeOf(bucket, key, text);
      const body = packed(text);
      await call('PutObject', ({ abortSignal }) => objects.put(place.key, body, abortSignal), failed);
      return place.pointer;
    },

    async get(pointer, tenant) {
      const { key, hash } = readPointer(bucket, pointer, tenant);
      const body = await call('GetObject', ({ abortSignal }) => objects.get(key, abortSignal), failed);
      const text = unpacked(body);
      if (sha256(text) !== hash)
        throw new PayloadGone('a payload is not what its pointer says: its hash differs');
      return text;
    },
  };
}
