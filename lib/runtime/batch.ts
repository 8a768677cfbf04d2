/** A batch of SQS messages: each stands alone, a few at a time, and what is not finished is reported. */
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { errorFields } from '#core/errors.ts';
import type { Log, Visibility } from '#core/ports.ts';
import type { StageContext } from './chain.ts';

export interface BatchOptions {
  /** Sets the visibility of what is reported. Default: it comes back after the queue's own time-out. */
  readonly visibility?: Visibility;
  /** Records at the same time. Default 10, the largest batch of a standard queue without a window. */
  readonly concurrency?: number;
}

/** With less than this left no record is started any more. Milliseconds. */
const RESERVE_MS = 1500;

/** As a worker answers; without seconds a message comes back after the queue's own time-out. */
interface Outcome {
  readonly ack: boolean;
  readonly seconds?: number;
}
type Work = (record: SQSRecord, log: Log) => Promise<Outcome>;

/**
 * Runs the records of a batch. A record that is not acked gets its visibility and is reported; an error that
 * `work` did not judge counts as "come back after the queue's own time-out".
 */
export function batch(work: Work, options: BatchOptions = {}) {
  const { concurrency = 10, visibility } = options;
  return async (event: SQSEvent, context: StageContext): Promise<SQSBatchResponse> => {
    const records = messagesOf(event, context.log);
    // By id, as the answer is: a message that came twice in one batch stays for both or for none of its handles.
    const failed = new Set<string>();
    const lane = async (): Promise<void> => {
      for (let record = records.shift(); record !== undefined; record = records.shift()) {
        const log = context.log.child({ messageId: record.messageId });
        const late = context.deadlineAt - Date.now() < RESERVE_MS;
        const outcome = late ? await notStarted(log) : await guarded(work, record, log);
        if (outcome.ack) continue;
        failed.add(record.messageId);
        if (outcome.seconds !== undefined && visibility) await hide(visibility, record, outcome.seconds, log);
      }
    };
    await Promise.all(Array.from({ length: Math.min(concurrency, records.length) }, lane));
    return { batchItemFailures: [...failed].map((itemIdentifier) => ({ itemIdentifier })) };
  };
}

/** What has no id cannot be reported: an answer with an id that SQS does not know fails the whole batch. */
function messagesOf(event: SQSEvent, log: Log): SQSRecord[] {
  const records: readonly unknown[] = Array.isArray(event?.Records) ? event.Records : [];
  const messages = records.filter(isMessage);
  if (messages.length < records.length)
    log.error('records that are no messages of a queue', { records: records.length - messages.length });
  return messages;
}

const isMessage = (record: unknown): record is SQSRecord => {
  const { messageId } = (record ?? {}) as Partial<Record<keyof SQSRecord, unknown>>;
  return typeof messageId === 'string' && messageId !== '';
};

async function notStarted(log: Log): Promise<Outcome> {
  log.info('no time left for this record');
  return { ack: false, seconds: 0 };
}

const guarded = (work: Work, record: SQSRecord, log: Log): Promise<Outcome> =>
  work(record, log).catch((error: unknown) => {
    log.error('record failed unexpectedly', errorFields(error));
    return { ack: false };
  });

/** Best effort: a message whose visibility could not be set comes back after the queue's own time-out. */
async function hide(visibility: Visibility, record: SQSRecord, seconds: number, log: Log): Promise<void> {
  try {
    await visibility.change(record.receiptHandle, seconds);
  } catch (error) {
    log.warn('visibility was not changed', errorFields(error));
  }
}
