import { expect, test } from 'vitest';
import { systemClock, systemIds, ulid } from '#adapters/system.ts';

test('ulid: 10 characters of time, 16 of randomness, as the specification has them', () => {
  expect(ulid(1_469_918_176_385, new Uint8Array(10))).toBe('01ARYZ6S410000000000000000');
  expect(ulid(0, new Uint8Array(10).fill(255))).toBe('0000000000ZZZZZZZZZZZZZZZZ');
  expect(ulid(2 ** 48 - 1, new Uint8Array(10))).toBe('7ZZZZZZZZZ0000000000000000');
});

test('run ids sort by time and do not repeat', () => {
  let now = 1_000;
  const ids = systemIds({ now: () => now });
  const [first, twin] = [ids.runId(), ids.runId()];
  now = 1_001;
  const later = ids.runId();
  expect(first).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/);
  expect(twin).not.toBe(first);
  expect(later > first && later > twin).toBe(true);
});

test('nonces and trace ids', () => {
  const ids = systemIds();
  expect(ids.traceId()).toMatch(/^[0-9a-f]{32}$/);
  expect(ids.traceId()).not.toBe(ids.traceId());
  const nonces = Array.from({ length: 1000 }, () => ids.nonce());
  expect(new Set(nonces).size).toBe(1000);
  for (const nonce of nonces) expect(nonce).toMatch(/^[0-9a-f]{32}$/);
  expect(ids.random()).toBeLessThan(1);
});

test("the clock is the machine's", () => {
  expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1_000);
});
