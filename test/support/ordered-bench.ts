/** An ordered pool in memory: tasks of several runs and keys, handed to one worker in whatever order a test says. */
import { expect } from 'vitest';
import { handle, type TaskContract } from '#core/contract.ts';
import type { Disposition } from '#core/delivery.ts';
import { enterStepOf } from '#core/dispatch.ts';
import { PermanentError } from '#core/errors.ts';
import { asStep, runKey, type StepItem, stepItemKey } from '#core/items.ts';
import { type ParkItem, parkKey } from '#core/parking.ts';
import { maxReceiveCount } from '#core/retry.ts';
import type { Store } from '#core/store.ts';
import { worker } from '#core/worker.ts';
import { aCommand, aDispatch, aRun, MINUTE, reserve, SECOND, seed, T0 } from './examples.ts';
import { manualClock, seededIds } from './memory/determinate.ts';
import { memoryLog } from './memory/log.ts';
import { memoryPayloads } from './memory/payloads.ts';
import { memoryStore } from './memory/store.ts';

export const POOL = 'ledger';
export const KEY = 'account-1';

const ordered: TaskContract = {
  ...reserve,
  expose: [],
  orderBy: 'orderId',
  retry: { ...reserve.retry, tries: 2 },
};

/** The run of a short name: A, B, C ... */
export const runOf = (name: string): string => `01K8ZZ000000000000000000${name}0`;
export const taskOf = (name: string): string => `${runOf(name)}/Reserve/0`;

export interface Sent {
  readonly replay?: number;
  readonly messageId?: string;
  readonly receiveCount?: number;
  readonly sentAt?: number;
}

export async function orderedBench({ store = (memory: Store) => memory } = {}) {
  const memory = memoryStore();
  const clock = manualClock(T0 + SECOND);
  const log = memoryLog();
  /** Names whose handler fails for now. */
  const failing = new Map<string, () => Error>();
  const effects: string[] = [];
  const { process } = worker({
    store: store(memory),
    payloads: memoryPayloads(),
    clock,
    ids: seededIds(clock),
    handlers: new Map([
      [
        ordered.type,
        handle(ordered, (async ({ orderId }: { orderId: string }) => {
          const fails = failing.get(orderId);
          if (fails) throw fails();
          effects.push(orderId);
          return { reservationId: orderId };
        }) as never),
      ],
    ]),
    version: 'v1',
    pool: POOL,
  });

  const commandOf = async (name: string, key: string | null) => {
    const step = await stepOf(name);
    return {
      ...aCommand({ data: { orderId: name }, ...(key !== null && { partitionkey: key }) }, step, ordered),
      runid: runOf(name),
      id: taskOf(name),
    };
  };
  const stepOf = async (name: string): Promise<StepItem> => {
    const item = await memory.get(stepItemKey(runOf(name), 'Reserve'));
    if (item === undefined) throw new Error(`no task ${name}`);
    return asStep(item);
  };

  /** Runs with one ordered task each. */
  async function enter(...names: string[]): Promise<void> {
    for (const name of names) {
      await seed(memory, aRun({ ...runKey(runOf(name)), runId: runOf(name) }));
      await memory.update(
        enterStepOf(
          aDispatch({
            runId: runOf(name),
            task: { type: ordered.type, version: 2, tries: 2, orderBy: 'orderId' },
          }),
        ),
      );
    }
  }

  async function deliver(name: string, sent: Sent = {}, key: string | null = KEY): Promise<Disposition> {
    return process({
      body: JSON.stringify(await commandOf(name, key)),
      messageId: sent.messageId ?? `first-${name}`,
      receiveCount: sent.receiveCount ?? 1,
      sentAt: sent.sentAt ?? T0,
      replay: sent.replay ?? 0,
      deadlineAt: clock.now() + 10 * SECOND,
      signal: new AbortController().signal,
      log,
    });
  }

  /** Delivers until it is acked, or as often as SQS would. */
  async function drive(
    name: string,
    sent: Sent = {},
    key: string | null = KEY,
  ): Promise<'acked' | 'dead letter'> {
    for (let receiveCount = 1; receiveCount <= maxReceiveCount(ordered.retry.tries); receiveCount += 1) {
      const disposition = await deliver(name, { ...sent, receiveCount }, key);
      if (disposition.ack) return 'acked';
      clock.pass(disposition.seconds * SECOND + 1);
    }
    return 'dead letter';
  }

  /** Writes the step over, as if that had happened to it. */
  const change = async (name: string, changes: Partial<StepItem>): Promise<unknown> =>
    seed(memory, { ...(await stepOf(name)), ...changes });

  return {
    memory,
    clock,
    log,
    failing,
    change,
    effects,
    enter,
    deliver,
    drive,
    stepOf,
    park: async (key = KEY) => (await memory.get(parkKey(POOL, key))) as ParkItem | undefined,
    cancel: (name: string) => change(name, { status: 'cancelled' }),
  };
}

/** What its task fails with, for good. */
export const broken = () => new PermanentError('poison');

/** A died; B and C of its key followed it. */
export async function parkedBench(names = ['A', 'B', 'C', 'D', 'E']) {
  const bench = await orderedBench();
  await bench.enter(...names);
  bench.failing.set('A', broken);
  for (const name of ['A', 'B', 'C']) expect(await bench.drive(name)).toBe('dead letter');
  bench.clock.pass(MINUTE);
  return bench;
}
