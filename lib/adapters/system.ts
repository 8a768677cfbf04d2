/** The clock and the randomness of the machine. */
import { randomBytes } from 'node:crypto';
import type { Clock, Ids } from '#core/ports.ts';

export const systemClock: Clock = { now: () => Date.now() };

/** Crockford's base 32: no I, L, O, U. */
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_DIGITS = 10;
const RANDOM_BYTES = 10;

const base32 = (value: bigint, length: number): string =>
  Array.from({ length }, (_, at) => DIGITS[Number((value >> BigInt(5 * (length - 1 - at))) & 31n)]).join('');

/** A ULID: 48 bits of time (milliseconds), then 80 random bits; 26 characters that sort by time. */
export const ulid = (time: number, random: Uint8Array): string =>
  base32(BigInt(time), TIME_DIGITS) +
  base32(BigInt(`0x${Buffer.from(random).toString('hex')}`), (RANDOM_BYTES * 8) / 5);

const NONCE_BYTES = 16;
const POOL_BYTES = 256 * NONCE_BYTES;

/** Random bytes, drawn many at a time. */
function nonces(): () => string {
  let pool = Buffer.alloc(0);
  let at = 0;
  return () => {
    if (at === pool.length) {
      pool = randomBytes(POOL_BYTES);
      at = 0;
    }
    at += NONCE_BYTES;
    return pool.toString('hex', at - NONCE_BYTES, at);
  };
}

export const systemIds = (clock: Clock = systemClock): Ids => ({
  runId: () => ulid(clock.now(), randomBytes(RANDOM_BYTES)),
  nonce: nonces(),
  traceId: () => randomBytes(16).toString('hex'),
  random: () => Math.random(),
});
