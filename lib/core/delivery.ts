/** What a worker is handed, and what it answers. */
import type { Log } from './ports.ts';

/** One SQS message in the hands of this function. */
export interface Delivery {
  readonly body: string;
  readonly messageId: string;
  /** ApproximateReceiveCount, from 1. */
  readonly receiveCount: number;
  /** SentTimestamp, epoch milliseconds. */
  readonly sentAt: number;
  /** Our replay tool's number, 0 for none. */
  readonly replay: number;
  /** The function's deadline, epoch milliseconds. */
  readonly deadlineAt: number;
  /** Aborts shortly before that deadline. */
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** `ack`: delete the message. Otherwise it is reported and comes back after `seconds` (0: at once, on its way to the DLQ). */
export type Disposition = { readonly ack: true } | { readonly ack: false; readonly seconds: number };

export const ACK: Disposition = { ack: true };
export const BURN: Disposition = { ack: false, seconds: 0 };
export const again = (seconds: number): Disposition => ({ ack: false, seconds });
