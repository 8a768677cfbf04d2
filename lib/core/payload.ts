/** Where payloads live: on the item while small, else in the bucket. */
import { PayloadGone } from './errors.ts';
import type { Payloads } from './ports.ts';

/** Payloads up to this size live on the item; larger ones in the payload bucket. */
export const INLINE_BYTES = 8 * 1024;

/** A tenant's stored payload: JSON text on the item, or behind its pointer. */
export async function payloadOf(
  payloads: Payloads,
  tenant: string,
  text?: string,
  ref?: string,
): Promise<unknown> {
  if (text !== undefined) return JSON.parse(text);
  if (ref !== undefined) return JSON.parse(await payloads.get(ref, tenant));
  throw new PayloadGone('the item holds neither a payload nor a pointer to one');
}

/** Stores JSON text on the item where it is small, which needs no waiting, and in the bucket where it is not. */
export const keepPayload = (
  payloads: Payloads,
  key: string,
  text: string,
): { readonly text: string } | Promise<{ readonly ref: string }> =>
  Buffer.byteLength(text) <= INLINE_BYTES ? { text } : payloads.put(key, text).then((ref) => ({ ref }));
