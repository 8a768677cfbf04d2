/**
 * A Bloom filter of finished tasks, for warm workers: says "certainly not seen" or "perhaps seen". A worker that has
 * perhaps seen a task as finished reads its item before it tries to claim, so that a flood of copies costs reads and
 * not refused writes. A false positive costs one read; nothing is ever decided by the filter alone.
 *
 * Sizes by the usual formulas (Bloom 1970): m = -n ln p / (ln 2)^2 bits, k = m/n ln 2 hashes; the k positions come
 * from two 32-bit hashes (Kirsch and Mitzenmacher 2006). Two generations bound it: when the newer one is full, the
 * older one is forgotten.
 */
const FALSE_POSITIVES = 0.001;

export interface SeenFilter {
  add(id: string): void;
  /** false: certainly not added lately. true: added, or one time in a thousand not. */
  mayHave(id: string): boolean;
  /** Memory of the bits. */
  readonly bytes: number;
}

/** FNV-1a over UTF-16 code units, finished as in murmur3 so that short ids differ in every bit. */
function hash(text: string, seed: number): number {
  let h = seed;
  for (let at = 0; at < text.length; at += 1) h = Math.imul(h ^ text.charCodeAt(at), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** @param capacity ids that one generation holds at the stated rate of false positives; at least this many are known */
export function seenFilter(capacity = 20_000): SeenFilter {
  const bits = Math.ceil((-capacity * Math.log(FALSE_POSITIVES / 2)) / Math.LN2 ** 2);
  const hashes = Math.round((bits / capacity) * Math.LN2);
  const generation = () => new Uint8Array(Math.ceil(bits / 8));
  let newer = generation();
  let older = generation();
  let added = 0;

  /** The first bit of one id and the way to its next, for all that is asked of it in one call. */
  let first = 0;
  let stride = 0;
  function find(id: string): void {
    first = hash(id, 0x811c9dc5) % bits;
    stride = ((hash(id, 0x9747b28c) | 1) >>> 0) % bits;
  }
  /** Both are below `bits`: no division for each bit. */
  const next = (bit: number): number => (bit + stride < bits ? bit + stride : bit + stride - bits);

  /** Whether every bit of that id is set; stops at the first that is not. */
  function has(bytes: Uint8Array): boolean {
    for (let turn = 0, bit = first; turn < hashes; turn += 1, bit = next(bit))
      if (((bytes[bit >> 3] as number) & (1 << (bit & 7))) === 0) return false;
    return true;
  }

  return {
    bytes: newer.length + older.length,
    mayHave(id) {
      find(id);
      return has(newer) || has(older);
    },
    add(id) {
      find(id);
      if (has(newer)) return;
      if (added === capacity) {
        older = newer;
        newer = generation();
        added = 0;
      }
      added += 1;
      for (let turn = 0, bit = first; turn < hashes; turn += 1, bit = next(bit))
        newer[bit >> 3] = (newer[bit >> 3] as number) | (1 << (bit & 7));
    },
  };
}
