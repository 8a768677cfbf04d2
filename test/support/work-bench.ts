/** One worker on a store in memory, with one step to work on, and a clock that a test moves. */
import { handle, type TaskContext, type TaskContract } from '#core/contract.ts';
import type { Delivery, Disposition } from '#core/delivery.ts';
import type { Command } from '#core/envelope.ts';
import { asStep, type RunItem, type StepItem, stepItemKey } from '#core/items.ts';
import type { Store } from '#core/store.ts';
import { worker } from '#core/worker.ts';
import { aCommand, aRun, RUN_ID, reserve, SECOND, seed, T0 } from './examples.ts';
import { manualClock, seededIds } from './memory/determinate.ts';
import { memoryLog } from './memory/log.ts';
import { memoryPayloads } from './memory/payloads.ts';
import { memoryStore, type OtherTables } from './memory/store.ts';

type Handler = (input: { orderId: string }, context: TaskContext) => Promise<unknown>;

export interface Given {
  readonly run?: RunItem | undefined;
  readonly step?: StepItem | undefined;
  /** Default: answers `{ reservationId: 'r-1', customer: 'Ada' }`. */
  readonly handler?: Handler;
  /** Contract of the step's command. Default: {@link reserve}. */
  readonly contract?: TaskContract;
  /** What the worker sees of the store. */
  readonly store?: (memory: Store) => Store;
  /** Tables of the handler's own. */
  readonly others?: OtherTables;
  /** Draw of the jitter. Default 0.5. */
  readonly random?: number;
}

/** The function's time: 30 seconds. */
export const FUNCTION_MS = 30 * SECOND;

export async function workBench({
  run = aRun(),
  step,
  contract = reserve,
  handler = async () => ({ reservationId: 'r-1', customer: 'Ada' }),
  store = (memory) => memory,
  random = 0.5,
  others,
}: Given) {
  const memory = memoryStore({ ...(others && { others }) });
  await seed(memory, run, ...(step ? [step] : []));
  const clock = manualClock(T0 + SECOND);
  const payloads = memoryPayloads();
  const log = memoryLog();
  const calls: { input: unknown; context: TaskContext }[] = [];
  const reserving = handle(contract, (async (input: { orderId: string }, context: TaskContext) => {
    calls.push({ input, context });
    return handler(input, context);
  }) as never);
  const { process } = worker({
    store: store(memory),
    payloads,
    clock,
    ids: { ...seededIds(clock), random: () => random },
    handlers: new Map([[contract.type, reserving]]),
    version: 'v1',
  });

  const deliver = (changes: Partial<Delivery> & { command?: Command } = {}): Promise<Disposition> => {
    const { command = aCommand(), ...more } = changes;
    return process({
      body: JSON.stringify(command),
      messageId: 'message-1',
      receiveCount: 1,
      sentAt: T0,
      replay: 0,
      deadlineAt: clock.now() + FUNCTION_MS,
      signal: new AbortController().signal,
      log,
      ...more,
    });
  };
  /** The step as it is stored now. */
  const now = async (): Promise<StepItem> => {
    const item = await memory.get(stepItemKey(RUN_ID, 'Reserve'));
    if (item === undefined) throw new Error('there is no step');
    return asStep(item);
  };
  return { memory, clock, payloads, log, calls, deliver, now };
}

export const ACK = { ack: true };
/** Back at once, on its way to the dead-letter queue. */
export const BURN = { ack: false, seconds: 0 };
export const again = (seconds: number) => ({ ack: false, seconds });
