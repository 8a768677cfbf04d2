/** What every adapter of the payload bucket does. */
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { MAX_PAYLOAD_BYTES } from '#adapters/payload-body.ts';
import { PayloadGone } from '#core/errors.ts';
import type { Payloads } from '#core/ports.ts';

export interface PayloadsUnderTest {
  readonly payloads: Payloads;
  /** Deletes the object of a pointer's key. */
  readonly remove: (key: string) => Promise<void>;
  /** Replaces what an object holds. */
  readonly damage: (key: string, bytes: Buffer | string) => Promise<void>;
  /** What an object holds. */
  readonly kept: (key: string) => Promise<Buffer>;
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
      expect(await bucket.payloads.get(pointer, 'tenant')).toBe(text);
    }
  });

  test('the same key and text again is the same pointer; another text leaves the first as it is', async () => {
    const key = freshKey();
    const first = await bucket.payloads.put(key, '1');
    expect(await bucket.payloads.put(key, '1')).toBe(first);
    const second = await bucket.payloads.put(key, '2');
    expect(second).not.toBe(first);
    expect(await bucket.payloads.get(first, 'tenant')).toBe('1');
    expect(await bucket.payloads.get(second, 'tenant')).toBe('2');
  });

  test('what is missing, or no longer what it was, is gone', async () => {
    const missing = await bucket.payloads.put(freshKey(), 'a');
    await bucket.remove(keyIn(missing));
    await expect(bucket.payloads.get(missing, 'tenant')).rejects.toThrow(PayloadGone);
    const damaged = await bucket.payloads.put(freshKey(), 'a');
    await bucket.damage(keyIn(damaged), 'b');
    await expect(bucket.payloads.get(damaged, 'tenant')).rejects.toThrow(
      'a payload is not what its pointer says: its hash differs',
    );
  });

  describe('is packed where that pays', () => {
    const sizeOf = async (text: string): Promise<number> => {
      const pointer = await bucket.payloads.put(freshKey(), text);
      expect(await bucket.payloads.get(pointer, 'tenant')).toBe(text);
      return (await bucket.kept(keyIn(pointer))).length;
    };

    test('a text that repeats itself takes a tenth; its bytes count, not its characters', async () => {
      const lines = JSON.stringify(
        Array.from({ length: 2000 }, (_, line) => ({ line, sku: 'é✓', quantity: 1 })),
      );
      expect(await sizeOf(lines)).toBeLessThan(Buffer.byteLength(lines) / 10);
    });

    test('noise, and what is short, stays as it is', async () => {
      const any = (): string => String.fromCharCode(35 + Math.floor(Math.random() * 90));
      const noise = JSON.stringify(Array.from({ length: 9000 }, any).join(''));
      expect(await sizeOf(noise)).toBe(Buffer.byteLength(noise));
      expect(await sizeOf('{"a":1}')).toBe(7);
    });

    test('a text that begins as gzip does comes back as well', async () => {
      await sizeOf('\u001f\u008b no JSON');
    });

    test('what was kept before anything was packed is still read', async () => {
      const text = JSON.stringify('x'.repeat(50_000));
      const pointer = await bucket.payloads.put(freshKey(), text);
      await bucket.damage(keyIn(pointer), text);
      expect(await bucket.payloads.get(pointer, 'tenant')).toBe(text);
    });

    test.each([
      [
        'unpacks to more than it may',
        gzipSync(Buffer.alloc(MAX_PAYLOAD_BYTES + 1, 'x')),
        'unpacks to more than 33554432 bytes',
      ],
      ['is cut off', gzipSync(JSON.stringify('x'.repeat(9000))).subarray(0, 30), 'it cannot be unpacked'],
      ['is packed, and another text', gzipSync('"another"'), 'its hash differs'],
    ])('an object that %s is gone', async (_what, bytes, why) => {
      const pointer = await bucket.payloads.put(freshKey(), '"x"');
      await bucket.damage(keyIn(pointer), bytes);
      const reading = bucket.payloads.get(pointer, 'tenant');
      await expect(reading).rejects.toThrow(PayloadGone);
      await expect(reading).rejects.toThrow(why);
    });

    test('a text of more than 32 MiB is not taken', async () => {
      const text = JSON.stringify('é'.repeat(MAX_PAYLOAD_BYTES / 2));
      await expect(bucket.payloads.put(freshKey(), text)).rejects.toThrow('allowed: 33554432');
    });
  });

  test.each(['other', 'ten', 'tenant-2', ''])(
    'a pointer of another tenant is refused to %j',
    async (tenant) => {
      const pointer = await bucket.payloads.put(freshKey(), '"x"');
      await expect(bucket.payloads.get(pointer, tenant)).rejects.toThrow(PayloadGone);
    },
  );

  describe('only our own bucket and prefix are read', () => {
    const hash = 'a'.repeat(64);
    test.each([
      ['another bucket', (own: string) => `s3://not-${own}/payloads/x/y#${hash}`],
      ['another prefix', (own: string) => `s3://${own}/secrets/x#${hash}`],
      ['a way out of the prefix', (own: string) => `s3://${own}/payloads/../secrets/x#${hash}`],
      ['an empty part', (own: string) => `s3://${own}/payloads//x#${hash}`],
      ['no hash', (own: string) => `s3://${own}/payloads/x/y`],
      ['a short hash', (own: string) => `s3://${own}/payloads/x/y#abc`],
      ["another text's hash", (own: string) => `s3://${own}/payloads/x/${'0'.repeat(32)}#${hash}`],
      ['a URL', (own: string) => `https://${own}/payloads/x/y#${hash}`],
    ])('%s is refused', async (_what, pointerIn) => {
      const own = (await bucket.payloads.put(freshKey(), 'a')).split('/')[2] as string;
      await expect(bucket.payloads.get(pointerIn(own), 'x')).rejects.toThrow(PayloadGone);
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
