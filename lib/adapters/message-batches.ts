/** Cuts messages into batches that SNS and SQS take: at most 10 entries and 262,144 bytes each. */

/** SNS: entries of one PublishBatch. */
export const BATCH_ENTRIES = 10;
/** SNS: bytes of one message, and of all messages of one PublishBatch, attributes included (256 KiB). */
export const BATCH_BYTES = 262_144;

export interface Sized {
  readonly bytes: number;
}

/** Batches in the order of the messages. `tooLarge`: what fits no batch even alone. */
export function batches<T extends Sized>(
  messages: readonly T[],
): { readonly batches: T[][]; readonly tooLarge: T[] } {
  const cut: T[][] = [];
  const tooLarge: T[] = [];
  let bytes = 0;
  for (const message of messages) {
    const last = cut.at(-1);
    if (message.bytes > BATCH_BYTES) tooLarge.push(message);
    else if (last && last.length < BATCH_ENTRIES && bytes + message.bytes <= BATCH_BYTES) {
      last.push(message);
      bytes += message.bytes;
    } else {
      cut.push([message]);
      bytes = message.bytes;
    }
  }
  return { batches: cut, tooLarge };
}
