/** The payload bucket in memory, with the pointers and the checks of the real one. */
import { placeOf, readPointer, sha256 } from '#adapters/payload-pointer.ts';
import { PayloadGone } from '#core/errors.ts';
import type { Payloads } from '#core/ports.ts';

export interface MemoryPayloads extends Payloads {
  /** Key -> text; a test may damage or delete what is kept. */
  readonly objects: Map<string, string>;
}

export function memoryPayloads(bucket = 'payload-bucket'): MemoryPayloads {
  const objects = new Map<string, string>();
  return {
    objects,
    put: async (key, text) => {
      const place = placeOf(bucket, key, text);
      objects.set(place.key, text);
      return place.pointer;
    },
    get: async (pointer) => {
      const { key, hash } = readPointer(bucket, pointer);
      const text = objects.get(key);
      if (text === undefined) throw new PayloadGone('the payload that a pointer names is not there');
      if (sha256(text) !== hash)
        throw new PayloadGone('a payload is not what its pointer says: its hash differs');
      return text;
    },
  };
}
