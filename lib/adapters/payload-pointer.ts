/** Pointers into the payload bucket, `s3://bucket/key#sha256`, and the keys that they may name. */
import { hash } from 'node:crypto';
import { EdowError, PayloadGone } from '#core/errors.ts';

/** Everything that is kept for runs lives below it; policies grant nothing else. */
const PREFIX = 'payloads/';

export const sha256 = (text: string): string => hash('sha256', text);

/** Bytes of an object's key: the limit of S3. */
const MAX_KEY_BYTES = 1024;
const isPlain = (key: string): boolean =>
  Buffer.byteLength(key) <= MAX_KEY_BYTES &&
  key.split('/').every((part) => part !== '' && part !== '.' && part !== '..');

const nameOf = (hash: string): string => hash.slice(0, 32);

/**
 * Where a text is kept: below its key by its hash, so that a late writer of the same key (a worker that lost its
 * lease) cannot replace what a pointer names.
 * @throws EdowError `payload_key` for a key with empty or relative parts, or one that is too long
 */
export function placeOf(bucket: string, key: string, text: string): { key: string; pointer: string } {
  const digest = sha256(text);
  const place = `${PREFIX}${key}/${nameOf(digest)}`;
  if (!isPlain(place))
    throw new EdowError(
      'payload_key',
      'a payload key has parts that are empty, "." or "..", or is longer than 1024 bytes: join plain names by "/"',
    );
  return { key: place, pointer: `s3://${bucket}/${place}#${digest}` };
}

const POINTER = /^s3:\/\/([^/#]+)\/([^#]+)#([0-9a-f]{64})$/;

/** @throws PayloadGone unless the pointer names an object of our bucket below our prefix, of this tenant and with its hash. */
export function readPointer(bucket: string, pointer: string, tenant: string): { key: string; hash: string } {
  const [, where, key, hash] = POINTER.exec(pointer) ?? [];
  if (where === undefined || key === undefined || hash === undefined)
    throw new PayloadGone('a payload pointer is not of the form s3://bucket/key#sha256');
  if (where !== bucket) throw new PayloadGone('a payload pointer names a bucket that is not ours');
  if (!key.startsWith(PREFIX) || !isPlain(key))
    throw new PayloadGone(`a payload pointer names a key outside "${PREFIX}"`);
  if (!key.startsWith(`${PREFIX}${tenant}/`))
    throw new PayloadGone('a payload pointer names an object of another tenant');
  if (!key.endsWith(`/${nameOf(hash)}`))
    throw new PayloadGone('a payload pointer has another hash than the object that it names');
  return { key, hash };
}
