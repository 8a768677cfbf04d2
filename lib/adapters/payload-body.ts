/** What a payload is kept as: its text, or the text packed by gzip where that pays. */
import { constants, gunzipSync, gzipSync } from 'node:zlib';
import { ContractError, PayloadGone } from '#core/errors.ts';

/** Longest text of a payload, in UTF-8 bytes (32 MiB): parsed, it must fit into a function of 512 MB. */
export const MAX_PAYLOAD_BYTES = 32 * 1024 * 1024;
/** Packed only when at least a quarter is saved: less is not worth the time of every reader. */
const PACKED_AT_MOST = 0.75;
/** How gzip begins. JSON text never does: the byte is a control character. */
const GZIP = 0x1f;

/**
 * The bytes of a text.
 * @throws ContractError for a text that is longer than {@link MAX_PAYLOAD_BYTES}
 */
export function packed(text: string): Buffer {
  const plain = Buffer.from(text);
  if (plain.length > MAX_PAYLOAD_BYTES)
    throw new ContractError(
      `a payload has ${plain.length} bytes; allowed: ${MAX_PAYLOAD_BYTES}. Keep the content elsewhere and hand on where it is`,
    );
  const gzip = gzipSync(plain, { level: constants.Z_BEST_SPEED });
  return gzip.length <= plain.length * PACKED_AT_MOST || plain[0] === GZIP ? gzip : plain;
}

/**
 * The text of bytes, packed or not.
 * @throws PayloadGone when they are damaged, or unpack to more than {@link MAX_PAYLOAD_BYTES}
 */
export function unpacked(bytes: Buffer): string {
  if (bytes[0] !== GZIP) return bytes.toString();
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_PAYLOAD_BYTES }).toString();
  } catch (error) {
    const isTooLong = (error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE';
    throw new PayloadGone(
      isTooLong
        ? `a payload unpacks to more than ${MAX_PAYLOAD_BYTES} bytes`
        : 'a payload is not what its pointer says: it cannot be unpacked',
    );
  }
}
