/** What every adapter of the payload bucket does. */
import { beforeAll, describe, expect, test } from 'vitest';
import { PayloadGone } from '#core/errors.ts';
import type { Payloads } from '#core/ports.ts';

export interface PayloadsUnderTest {
  readonly payloads: Payloads;
  /** Deletes the object of a pointer's key. */
  readonly remove: (key: string) => Promise<void>;
  /** Replaces the text of an object. */
  readonly damage: (key: string, text: string) => Promise<void>;
}

let cases = 0;
const freshKey = (): string => `tenant/${Date.now().toString(36)}-${process.pid}-${cases++}/input.json`;
const keyIn = (pointer: string): string => pointer.replace(/^s3:\/\/[^/]+\//, '').replace(/#.*$/, '');

/** @param make a bucket and ways to spoil it; called once */
export function payloadsContract(make: () => Promise<PayloadsUnderTest>): void {
  let bucket: PayloadsUnderTest;
  beforeAll(async () => {
    bucket = await make();
  });

  test('a text comes back as it was put', async () => {
    for (const text of ['{"name":"naïve ✓ 😀"}', '""', JSON.stringify('x'.repeat(300_000))]) {
      const pointer = await bucket.payloads.put(freshKey(), text);
      expect(pointer).toMatch(/^s3:\/\/[a-z0-9.-]+\/payloads\/tenant\/[^#]+#[0-9a-f]{64}$/);
      expect(await bucket.payloads.get(pointer)).toBe(text);
    }
  });

  test('the same key and text again is the same pointer; another text leaves the first as it is', async () => {
    const key = freshKey();
    const first = await bucket.payloads.put(key, '1');
    expect(await bucket.payloads.put(key, '1')).toBe(first);
    const second = await bucket.payloads.put(key, '2');
    expect(second).not.toBe(first);
    expect(await bucket.payloads.get(first)).toBe('1');
    expect(await bucket.payloads.get(second)).toBe('2');
  });

  test('what is missing, or no longer what it was, is gone', async () => {
    const missing = await bucket.payloads.put(freshKey(), 'a');
    await bucket.remove(keyIn(missing));
    await expect(bucket.payloads.get(missing)).rejects.toThrow(PayloadGone);
    const damaged = await bucket.payloads.put(freshKey(), 'a');
    await bucket.damage(keyIn(damaged), 'b');
    await expect(bucket.payloads.get(damaged)).rejects.toThrow(
      'a payload is not what its pointer says: its hash differs',
    );
  });

  describe('only our own bucket and prefix are read', () => {
    const hash = 'a'.repeat(64);
    test.each([
      ['another bucket', (own: string) => `s3://not-${own}/payloads/x#${hash}`],
      ['another prefix', (own: string) => `s3://${own}/secrets/x#${hash}`],
      ['a way out of the prefix', (own: string) => `s3://${own}/payloads/../secrets/x#${hash}`],
      ['an empty part', (own: string) => `s3://${own}/payloads//x#${hash}`],
      ['no hash', (own: string) => `s3://${own}/payloads/x`],
      ['a short hash', (own: string) => `s3://${own}/payloads/x#abc`],
      ['a URL', (own: string) => `https://${own}/payloads/x#${hash}`],
    ])('%s is refused', async (_what, pointerIn) => {
      const own = (await bucket.payloads.put(freshKey(), 'a')).split('/')[2] as string;
      await expect(bucket.payloads.get(pointerIn(own))).rejects.toThrow(PayloadGone);
    });

    test.each(['../x', 'a/../../x', '/x', 'a//b', './x', 'x'.repeat(1100)])(
      'nothing is put at %.12s',
      async (key) => {
        await expect(bucket.payloads.put(key, 'a')).rejects.toThrow(
          expect.objectContaining({ code: 'payload_key' }),
        );
      },
    );
  });
}
