/** A batch of SQS messages: each stands alone, a few at a time, and what is not finished is reported. */
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { errorFields } from '#core/errors.ts';
import { lanes } from '#core/lanes.ts';
import type { Log, Visibility } from '#core/ports.ts';
import type { StageContext } from './chain.ts';

export interface BatchOptions {
  /** Sets the visibility of what is reported. Default: it comes back after the queue's own time-out. */
  readonly visibility?: Visibility;
  /** Records at the same time. Default 10, the largest batch of a standard queue without a window. */
  readonly concurrency?: number;
  /** A FIFO queue: one record of a group at a time, and none after the first that was not acked. Default false. */
  readonly ordered?: boolean;
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
  const { concurrency = 10, visibility, ordered = false } = options;
  return async (event: SQSEvent, context: StageContext): Promise<SQSBatchResponse> => {
    const records = messagesOf(event, context.log);
    // By id, as the answer is: a message that came twice in one batch stays for both or for none of its handles.
    const failed = new Set<string>();
    const finished = async (record: SQSRecord, stopped: boolean): Promise<boolean> => {
      const log = context.log.child({ messageId: record.messageId });
      const late = stopped || context.deadlineAt - Date.now() < RESERVE_MS;
      let outcome: Outcome;
      try {
        outcome = late ? notStarted(log, stopped) : await work(record, log);
      } catch (error) {
        log.error('record failed unexpectedly', errorFields(error));
        outcome = { ack: false };
      }
      if (outcome.ack) return true;
      failed.add(record.messageId);
      if (outcome.seconds !== undefined && visibility) await hide(visibility, record, outcome.seconds, log);
      return false;
    };
    if (ordered)
      await lanes(groupsOf(records), concurrency, async (group) => {
        let stopped = false;
        for (const record of group) if (!(await finished(record, stopped))) stopped = true;
      });
    else await lanes(records, concurrency, (record) => finished(record, false));
    return { batchItemFailures: [...failed].map((itemIdentifier) => ({ itemIdentifier })) };
  };
}

/** Records of one group in their order; one without a group is a group of its own. */
function groupsOf(records: readonly SQSRecord[]): SQSRecord[][] {
  const groups = new Map<string, SQSRecord[]>();
  for (const record of records) {
    const id = record.attributes?.MessageGroupId ?? record.messageId;
    const group = groups.get(id);
    if (group) group.push(record);
    else groups.set(id, [record]);
  }
  return [...groups.values()];
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

/** Back at once: in an ordered group, behind the one that stopped it. */
function notStarted(log: Log, stopped: boolean): Outcome {
  log.info(stopped ? 'an earlier record of its group is not finished' : 'no time left for this record');
  return { ack: false, seconds: 0 };
}

/** Best effort: a message whose visibility could not be set comes back after the queue's own time-out. */
async function hide(visibility: Visibility, record: SQSRecord, seconds: number, log: Log): Promise<void> {
  try {
    await visibility.change(record.receiptHandle, seconds);
  } catch (error) {
    log.warn('visibility was not changed', errorFields(error));
  }
}
