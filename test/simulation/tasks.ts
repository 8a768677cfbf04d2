/** Handlers with a downstream outside our books, which fail by plan. */
import * as z from 'zod/mini';
import { defineTask, type TaskContext, type TaskContract, type TaskHandler } from '#core/contract.ts';
import { PermanentError, RetryAfterError } from '#core/errors.ts';
import { taskIdOf } from '#core/items.ts';
import type { TableWrite } from '#core/table-write.ts';
import type { OtherTables } from '#test/memory/store.ts';
import type { Actor, Actors } from './actors.ts';
import type { Books, HandlerRun } from './books.ts';
import type { Clockwork } from './clockwork.ts';
import type { Faults } from './faults.ts';
import { MODES, ORDERED, type Plan, TAKES_ALL, TYPES } from './plan.ts';
import type { Random } from './random.ts';

const input = z.object({ value: z.number(), filling: z.string() });

const contractOf = (type: string): TaskContract => ({
  ...defineTask({
    type,
    version: 1,
    input: type === TAKES_ALL ? z.union([input, z.number(), z.null()]) : input,
    output: z.object({ value: z.number(), filling: z.string(), status: z.optional(z.string()) }),
    event: type.replace('make', 'made'),
    expose: type === TAKES_ALL ? [] : ['status'],
    retry: { tries: 4, baseSeconds: 2, maxSeconds: 60 },
    timeoutSeconds: 600,
    undo: { none: 'nothing is undone yet' },
  }),
  mode: MODES[type] ?? 'normal',
  ...(ORDERED.includes(type) && { orderBy: 'lane' }),
});

/** Contracts by command type. */
export const CONTRACTS = new Map(TYPES.map((type) => [type as string, contractOf(type)]));

interface Given {
  readonly value: number;
  readonly filling: string;
}
type Input = Given | number | null;
const givenOf = (input: Input): Given =>
  typeof input === 'object' ? (input ?? { value: -10, filling: '' }) : { value: input, filling: '' };
/** More than a state may see. */
const TOO_MUCH = 'z'.repeat(9 * 1024);

export interface TaskParts {
  readonly plan: Plan;
  readonly clockwork: Clockwork;
  readonly faults: Faults;
  readonly actors: Actors;
  readonly books: Books;
  readonly random: Random;
  /** Tasks whose next retry is written while another copy of their message comes. */
  readonly overtaken: Set<string>;
}

/** Function's time that a handler which heeds its signal leaves. */
const ABORT_MS = 1000;
/** A refusal that waits until the other tasks of its group are at work; the end of a run takes a second or two. */
const SIBLING_MS = [200, 1500] as const;
const RUN_ENDS_MS = [1000, 5000] as const;
/** Longest call of a downstream: it may take effect after its caller's end. */
const DOWNSTREAM_MS = [20, 3500] as const;

export function tasksOf({ plan, clockwork, faults, actors, books, random, overtaken }: TaskParts) {
  /** Tasks that fail in any try until the bug is fixed. */
  const poisoned = new Map<string, 'retryable' | 'permanent' | 'wrong' | undefined>();
  const poisonOf = (taskId: string) => {
    if (!poisoned.has(taskId)) {
      const struck = faults.strikes('task poisoned until fixed');
      poisoned.set(taskId, struck ? random.pick(['retryable', 'permanent', 'wrong']) : undefined);
    }
    return clockwork.now() < plan.fixedAt ? poisoned.get(taskId) : undefined;
  };

  /** Tasks that have refused while another of their run is worked on, by run. */
  const refusing = new Map<string, string>();
  const hasSibling = (taskId: string): boolean => {
    const [runId = '', stepKey] = taskId.split('/');
    const groups = books.planned.get(runId)?.workflow.groups ?? [];
    const group = groups.find((steps) => steps.some((step) => step.stepKey === stepKey)) ?? [];
    return group.some((step) => step.stepKey !== stepKey && !books.doneAt.has(taskIdOf(runId, step.stepKey)));
  };

  /** One task of a schedule at most: its receives run out, while those of ten would only come to an end. */
  let throttled: string | undefined;
  const isThrottledForever = (taskId: string): boolean => {
    if (throttled !== undefined && throttled !== taskId) return false;
    if (!faults.strikes('task throttled without end')) return false;
    throttled = taskId;
    return true;
  };

  const statusOf = (taskId: string): string | undefined => {
    const [runId = '', stepKey] = taskId.split('/');
    const run = books.planned.get(runId);
    return run?.declined && run.workflow.choiceOn === stepKey ? 'declined' : undefined;
  };

  /** What the task answers when all goes well. */
  const resultOf = (given: Given, taskId: string) => ({
    value: given.value + 1,
    filling: given.filling,
    status: statusOf(taskId),
  });
  function wrongly(booked: boolean, given: Given, taskId: string): unknown {
    const output = random.chance(0.5) ? { value: 'no number' } : { ...given, status: TOO_MUCH };
    if (booked && random.chance(0.3)) return undefined;
    return booked ? { output, writes: [bookingOf(taskId)] } : output;
  }

  /** What all handlers do in the hands of one invocation. It ends with it. */
  return function handlerFor(actor: Actor): TaskHandler['run'] {
    const take = (what: string, ms: number, apply: () => void = () => {}): Promise<void> =>
      actors.call(actor, what, apply, { takes: ms });

    async function run(given: Input, context: TaskContext): Promise<unknown> {
      const seen = books.begins(context.taskId, resultOf(givenOf(given), context.taskId));
      actor.onEnd.push(() => {
        seen.endedAt ??= clockwork.now();
      });
      try {
        return await act(givenOf(given), context, seen);
      } catch (error) {
        // What the handler says of itself: it is asked again only after such an end.
        seen.clean = error instanceof PermanentError || error instanceof RetryAfterError;
        throw error;
      } finally {
        seen.endedAt = clockwork.now();
      }
    }

    async function act(given: Given, context: TaskContext, seen: HandlerRun): Promise<unknown> {
      const poison = poisonOf(context.taskId);
      const { runId, taskId } = context;
      if (!refusing.has(runId) && hasSibling(taskId) && faults.strikes('run refused under way')) {
        refusing.set(runId, taskId);
        await take('waits for its sibling', random.between(...SIBLING_MS));
        throw new PermanentError('no', { refused: true });
      }
      if (faults.strikes('task throttled') || isThrottledForever(context.taskId)) {
        await take('downstream throttles', 100);
        books.deferred(context.taskId);
        throw new RetryAfterError('come back later', random.pick([1, 20, 90]), {
          noEffect: random.chance(0.5),
        });
      }
      if (faults.strikes('task slow')) await take('works slowly', random.between(2000, 12_000));
      if (faults.strikes('task hangs')) {
        const left = context.remainingMs() + (random.chance(0.5) ? -ABORT_MS : ABORT_MS);
        await take('hangs', Math.max(1, left));
        throw new Error('aborted before the deadline');
      }
      if (poison === 'permanent' || faults.strikes('task permanent'))
        throw new PermanentError('a bug: this input is not understood');
      if (faults.strikes('task refused'))
        throw new PermanentError('no', { refused: true, noEffect: random.chance(0.5) });
      if (context.idempotencyKey !== context.taskId)
        books.breaks('2: another idempotency key than the task id');
      const mode = MODES[books.typeOf(context.taskId)];
      const booked = mode === 'transactional';
      await take('downstream', random.between(...DOWNSTREAM_MS), () => {
        if (!booked) books.effect(seen);
      });
      if (![undefined, taskId].includes(refusing.get(runId))) {
        refusing.delete(runId);
        await take('works on while its run ends', random.between(...RUN_ENDS_MS));
        const end = random.pick(['succeeds', 'fails', 'is permanent']);
        if (end === 'fails') throw new Error('too late');
        // Of a task that may have its effect once this would say that it has had none.
        if (end === 'is permanent' && mode !== 'atMostOnce') throw new PermanentError('too late');
      }
      if (faults.strikes('retry overtaken by a copy')) {
        overtaken.add(taskId);
        throw new Error('downstream is sick');
      }
      if (poison === 'retryable' || faults.strikes('task retryable')) throw new Error('downstream is sick');
      if (poison === 'wrong' || faults.strikes('task answers wrongly'))
        return wrongly(booked, given, context.taskId);
      if (!booked) return seen.result;
      const refused = random.chance(0.5) && {
        refused: () => new PermanentError('the rule says no', { noEffect: true }),
      };
      return { output: seen.result, writes: [bookingOf(context.taskId)], ...refused };
    }

    return run as TaskHandler['run'];
  };
}

/** The effect of a transactional task: a write to a table of its own. */
const bookingOf = (taskId: string): TableWrite => ({
  Update: { TableName: 'bookings', Key: { taskId }, UpdateExpression: 'ADD booked :one' },
});

const taskIn = (write: TableWrite): string => ('Update' in write ? String(write.Update.Key['taskId']) : '');

/** That table: its writes are effects, in the transaction of a commit and nowhere else. */
export const bookingsOf = (books: Books, faults: Faults): OtherTables => ({
  refusal: (write) => {
    if (faults.strikes('transaction conflict')) {
      // Nobody judged it: the try does not count.
      books.deferred(taskIn(write));
      return { why: 'conflict' };
    }
    return faults.strikes('condition refused') ? { why: 'condition', item: undefined } : undefined;
  },
  apply: (write) => {
    const run = books.attempts.get(taskIn(write))?.at(-1);
    if (run) books.effect({ ...run, endedAt: undefined });
  },
});
