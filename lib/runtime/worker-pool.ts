/** Binds core's worker to the records of a work queue. */
import type { SQSRecord } from 'aws-lambda';
import type { TaskHandler } from '#core/contract.ts';
import type { Log, Visibility } from '#core/ports.ts';
import { type WorkerPorts, worker } from '#core/worker.ts';
import { type BatchOptions, batch } from './batch.ts';
import { chain, type StageContext } from './chain.ts';

/** Handlers are told to stop this long before the function ends: time to give the claim back. Milliseconds. */
const ABORT_MS = 1000;

/** Message attribute that our own replay sets: the number of the replay. */
export const REPLAY_ATTRIBUTE = 'replay';

export interface PoolPorts extends Omit<WorkerPorts, 'handlers'> {
  readonly visibility: Visibility;
}

const handlersByType = (handlers: readonly TaskHandler[]): ReadonlyMap<string, TaskHandler> =>
  new Map(handlers.map((handler) => [handler.contract.type, handler]));

const numberOf = (text: string | undefined): number => {
  const value = Number(text);
  return Number.isSafeInteger(value) && value > 0 ? value : 0;
};

/** The entry point of a worker pool: hand it the ports and the handlers of its tasks. */
export function workerPool(ports: PoolPorts, handlers: readonly TaskHandler[], options: BatchOptions = {}) {
  const { process: processOne } = worker({ ...ports, handlers: handlersByType(handlers) });
  return chain('worker', (event: Parameters<ReturnType<typeof batch>>[0], context: StageContext) => {
    const abort = new AbortController();
    const { signal } = abort;
    const timer = setTimeout(() => abort.abort(), context.deadlineAt - Date.now() - ABORT_MS);
    const one = (record: SQSRecord, log: Log) =>
      processOne({
        body: record.body,
        messageId: record.messageId,
        // Optional against the types: a record that lacks them is judged by its body alone.
        receiveCount: numberOf(record.attributes?.ApproximateReceiveCount) || 1,
        sentAt: numberOf(record.attributes?.SentTimestamp),
        replay: numberOf(record.messageAttributes?.[REPLAY_ATTRIBUTE]?.stringValue),
        deadlineAt: context.deadlineAt,
        signal,
        log,
      });
    return batch(one, { ...options, visibility: ports.visibility, ordered: ports.pool !== undefined })(
      event,
      context,
    ).finally(() => clearTimeout(timer));
  });
}
