/** The clock and the randomness of the machine. */
import { randomBytes, randomUUID } from 'node:crypto';
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

export const systemIds = (clock: Clock = systemClock): Ids => ({
  runId: () => ulid(clock.now(), randomBytes(RANDOM_BYTES)),
  nonce: () => randomUUID(),
  traceId: () => randomBytes(16).toString('hex'),
  random: () => Math.random(),
});
