/** Random numbers of one seed and one purpose: a purpose more or less leaves the others as they were. */

export interface Random {
  /** From 0 (inclusive) to 1 (exclusive). */
  next(): number;
  chance(probability: number): boolean;
  /** A whole number, both ends included. */
  between(from: number, to: number): number;
  pick<T>(list: readonly T[]): T;
}

/** FNV-1a over the purpose, mixed with the seed. */
function mixed(seed: number, purpose: string): number {
  let hash = 2_166_136_261 ^ seed;
  for (let at = 0; at < purpose.length; at += 1) hash = Math.imul(hash ^ purpose.charCodeAt(at), 16_777_619);
  return hash >>> 0;
}

/** Mulberry32: small, fast, and the same on every machine. */
export function randomOf(seed: number, purpose: string): Random {
  let state = mixed(seed, purpose);
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mix = Math.imul(state ^ (state >>> 15), 1 | state);
    mix = (mix + Math.imul(mix ^ (mix >>> 7), 61 | mix)) ^ mix;
    return ((mix ^ (mix >>> 14)) >>> 0) / 4_294_967_296;
  };
  // The first numbers of neighbouring seeds are alike.
  for (let warm = 0; warm < 3; warm += 1) next();
  return {
    next,
    chance: (probability) => next() < probability,
    between: (from, to) => from + Math.floor(next() * (to - from + 1)),
    pick: <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T,
  };
}
