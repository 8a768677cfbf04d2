/** A topic in memory: keeps what it took, and can be told to refuse. */
import type { Envelope } from '#core/envelope.ts';

export interface MemoryTopic<E extends Envelope> {
  publish(envelopes: readonly E[]): Promise<string[]>;
  /** All that was taken, in order. */
  readonly taken: readonly E[];
  /** Ids that are not taken from now on. */
  refuse(...ids: string[]): void;
}

/** The limit of a message, as on SNS: 262,144 bytes; attributes are left out here. */
const MESSAGE_BYTES = 262_144;

/** @param onTaken called for each message as it is taken: deliver it from here */
export function memoryTopic<E extends Envelope>(onTaken: (envelope: E) => void = () => {}): MemoryTopic<E> {
  const taken: E[] = [];
  const refused = new Set<string>();
  return {
    taken,
    refuse: (...ids) => {
      for (const id of ids) refused.add(id);
    },
    publish: async (envelopes) => {
      const left: string[] = [];
      for (const envelope of envelopes) {
        const body = JSON.stringify(envelope);
        if (refused.has(envelope.id) || Buffer.byteLength(body) > MESSAGE_BYTES) left.push(envelope.id);
        else {
          const copy = JSON.parse(body) as E;
          taken.push(copy);
          onTaken(copy);
        }
      }
      return left;
    },
  };
}
