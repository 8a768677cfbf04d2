/** The payload bucket in memory, with the pointers and the checks of the real one. */
import { packed, unpacked } from '#adapters/payload-body.ts';
import { placeOf, readPointer, sha256 } from '#adapters/payload-pointer.ts';
import { PayloadGone } from '#core/errors.ts';
import type { Payloads } from '#core/ports.ts';

export interface MemoryPayloads extends Payloads {
  /** Key -> what is kept; a test may damage or delete it. */
  readonly objects: Map<string, Buffer>;
}

export function memoryPayloads(bucket = 'payload-bucket'): MemoryPayloads {
  const objects = new Map<string, Buffer>();
  return {
    objects,
    put: async (key, text) => {
      const place = placeOf(bucket, key, text);
      objects.set(place.key, packed(text));
      return place.pointer;
    },
    get: async (pointer, tenant) => {
      const { key, hash } = readPointer(bucket, pointer, tenant);
      const kept = objects.get(key);
      if (kept === undefined) throw new PayloadGone('the payload that a pointer names is not there');
      const text = unpacked(kept);
      if (sha256(text) !== hash)
        throw new PayloadGone('a payload is not what its pointer says: its hash differs');
      return text;
    },
  };
}
