import { describe, expect, test } from 'vitest';
import { unpacked } from '#adapters/payload-body.ts';
import { INLINE_BYTES, keepPayload, payloadOf } from '#core/payload.ts';
import { memoryPayloads } from '#test/memory/payloads.ts';

const ofBytes = (bytes: number): string => JSON.stringify('x'.repeat(bytes - 2));

describe('keepPayload and payloadOf', () => {
  test('up to 8 KB stay on the item', async () => {
    const payloads = memoryPayloads();
    const text = ofBytes(INLINE_BYTES);
    expect(await keepPayload(payloads, 'acme/run/x.json', text)).toEqual({ text });
    expect(payloads.objects.size).toBe(0);
    expect(await payloadOf(payloads, 'acme', text)).toBe(JSON.parse(text));
  });

  test('a byte more goes to the bucket, and comes back the same', async () => {
    const payloads = memoryPayloads();
    const text = ofBytes(INLINE_BYTES + 1);
    const kept = await keepPayload(payloads, 'acme/run/x.json', text);
    const ref = 'ref' in kept ? kept.ref : '';
    expect(ref).toMatch(/^s3:\/\/.*acme\/run\/x\.json.*#[0-9a-f]{64}$/);
    expect([...payloads.objects.values()].map(unpacked)).toEqual([text]);
    expect(await payloadOf(payloads, 'acme', undefined, ref)).toBe(JSON.parse(text));
  });

  test('bytes are counted, not characters', async () => {
    const text = JSON.stringify('é'.repeat(INLINE_BYTES / 2));
    expect(text.length).toBeLessThan(INLINE_BYTES);
    expect(await keepPayload(memoryPayloads(), 'acme/run/x.json', text)).toHaveProperty('ref');
  });

  test('an item without either has lost its payload', async () => {
    await expect(payloadOf(memoryPayloads(), 'acme')).rejects.toMatchObject({ code: 'payload_gone' });
  });
});
