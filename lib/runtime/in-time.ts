/** Dispatch, collect, relay and close have two seconds for a record: what is not done by then is handed back, counted. */
import { callSignal, underSignal } from '#adapters/call-signal.ts';
import { ENV } from '#core/env-names.ts';
import { EdowError } from '#core/errors.ts';
import { METRIC } from '#core/metric-names.ts';
import { optional } from './env.ts';
import { count } from './metrics.ts';

/**
 * Milliseconds. Two seconds unless the stage says otherwise: ten times what the slowest of them needs on AWS, and a
 * fifth of its function's time-out there.
 */
export const RECORD_MS = 1000 * Number(optional(ENV.recordSeconds) ?? 2);

export class RecordLate extends EdowError {
  override readonly name: string = 'RecordLate';
  constructor() {
    super('record_late', 'a record was not done in time: its source hands it out again');
  }
}

/** How that time passes, and who hears of records that it was too short for. The fault simulation has its own. */
export const recordTime = {
  /** Does `action` after so many milliseconds, unless it is called off. */
  after(milliseconds: number, action: () => void): () => void {
    const timer = setTimeout(action, milliseconds);
    return () => clearTimeout(timer);
  },
  handedBack(records: number): void {
    count(METRIC.handedBack, records, { FunctionName: process.env['AWS_LAMBDA_FUNCTION_NAME'] ?? 'none' });
  },
};

/**
 * Runs `work` for so long at most, whatever it waits for. Work that is given up makes no further call to AWS: not
 * even when its process, frozen after the answer, goes on hours later. The call that was on its way may still take
 * effect. That changes nothing: a write is conditional on what was read before it, a token's second answer is refused,
 * and a command or an event that comes twice is a duplicate by its id.
 * @param onLate told when the time is over
 * @throws RecordLate
 */
export async function within<T>(
  milliseconds: number,
  work: () => Promise<T>,
  onLate: () => void = () => {},
): Promise<T> {
  const end = new AbortController();
  let callOff = (): void => {};
  const late = new Promise<never>((_, reject) => {
    callOff = recordTime.after(milliseconds, () => {
      onLate();
      reject(new RecordLate());
      end.abort();
    });
  });
  try {
    return await Promise.race([underSignal(end.signal, work), late]);
  } finally {
    callOff();
  }
}

/**
 * The time of one record, counted when it is not enough. Inside the time of another record there is only that.
 * @param records that are worked on together. Default 1
 */
export const inTime = <T>(work: () => Promise<T>, records = 1): Promise<T> =>
  callSignal() === undefined ? within(RECORD_MS, work, () => recordTime.handedBack(records)) : work();
