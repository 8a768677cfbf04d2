/** The contract of a task: the one place for its names, schemas, retry and undo. */
import * as z from 'zod/mini';
import { ContractError } from './errors.ts';
import { escapePointer } from './json-text.ts';
import { assertCommandType, assertEventType, assertWorkflowName } from './names.ts';
import { MAX_VISIBILITY_SECONDS } from './retry.ts';
import type { RefusedWrite, TableWrite } from './table-write.ts';

type Schema = z.core.$ZodType;

/** Bounded retries, owned by the queue alone. */
export interface RetryPolicy {
  /** Tries in one round, 1 to 10. Default 5. */
  readonly tries: number;
  /** Upper bound of the first wait, seconds; it doubles with each try. Default 2. */
  readonly baseSeconds: number;
  /** Upper bound of any wait, seconds, at most 42,000 (see retry.ts). Default 300. */
  readonly maxSeconds: number;
}

/**
 * What a task may rely on when a worker is lost between effect and commit.
 * `normal`: the handler is called again, and its downstream recognises the idempotency key.
 * `atMostOnce`: the handler is never called again where it may have had its effect: such a task waits for a person
 * (`edow task resolve`). For downstreams that know no idempotency key.
 * `transactional`: the effect is DynamoDB writes that the handler returns; they and the result are one transaction.
 */
export type TaskMode = 'normal' | 'atMostOnce' | 'transactional';

export interface TaskContract<
  I extends Schema = Schema,
  O extends Schema = Schema,
  M extends TaskMode = TaskMode,
> {
  /** Command type, imperative: `inventory.stock.reserve`. */
  readonly type: string;
  /** Version of the schemas, a whole number from 1. */
  readonly version: number;
  readonly input: I;
  readonly output: O;
  /** Event type told when the task is done, past tense: `inventory.stock.reserved`. Its data is the output. */
  readonly event: string;
  /** Output fields that the state machine may see (for Choice). Personal data never belongs here. */
  readonly expose: readonly string[];
  readonly retry: RetryPolicy;
  /** Longest time from entering the step to its outcome, seconds. */
  readonly timeoutSeconds: number;
  /** Command type that undoes the task, or why none is needed. */
  readonly undo: string | { readonly none: string };
  readonly mode: M;
  /**
   * Field of the input (text or a number) by which tasks keep their order: an account, a conversation. Its pool must be
   * an ordered one. Undefined: no order.
   */
  readonly orderBy?: string;
}

export interface TaskDefinition<I extends Schema, O extends Schema, M extends TaskMode = 'normal'> {
  readonly type: string;
  readonly version: number;
  readonly input: I;
  readonly output: O;
  readonly event: string;
  readonly expose?: readonly (keyof z.infer<O> & string)[];
  readonly retry?: Partial<RetryPolicy>;
  readonly timeoutSeconds: number;
  readonly undo: string | { readonly none: string };
  /** Default `normal`. */
  readonly mode?: M;
  /** A field of the input, see {@link TaskContract.orderBy}. Default: no order. */
  readonly orderBy?: keyof z.infer<I> & string;
}

const MODES: readonly TaskMode[] = ['normal', 'atMostOnce', 'transactional'];
const DEFAULT_RETRY: RetryPolicy = { tries: 5, baseSeconds: 2, maxSeconds: 300 };
/** 10 tries + 15 spare receives = 25 receives of one message at most, see retry.ts. */
const MAX_TRIES = 10;
/** Step Functions keeps an execution open for a year; a work queue keeps a message for 4 days. */
const MAX_TIMEOUT_SECONDS = 4 * 86_400;

const whole = (value: number, from: number, until: number): boolean =>
  Number.isInteger(value) && value >= from && value <= until;

/**
 * Checks and completes a task's contract.
 * @example defineTask({ type: 'inventory.stock.reserve', version: 1, input, output, event: 'inventory.stock.reserved', timeoutSeconds: 300, undo: 'inventory.stock.release' })
 * @throws ContractError naming the field, the value and what is allowed
 */
export function defineTask<I extends Schema, O extends Schema, M extends TaskMode = 'normal'>(
  task: TaskDefinition<I, O, M>,
): TaskContract<I, O, M> {
  assertCommandType(task.type);
  assertEventType(task.event);
  if (typeof task.undo === 'string') assertCommandType(task.undo);
  const retry = { ...DEFAULT_RETRY, ...task.retry };
  const check = (ok: boolean, field: string, value: unknown, allowed: string): void => {
    if (!ok) throw new ContractError(`task ${task.type}: ${field} is ${String(value)}; allowed: ${allowed}`);
  };
  check(whole(task.version, 1, 9999), 'version', task.version, 'a whole number from 1');
  check(
    whole(retry.tries, 1, MAX_TRIES),
    'retry.tries',
    retry.tries,
    `a whole number from 1 to ${MAX_TRIES}`,
  );
  check(
    whole(retry.maxSeconds, 1, MAX_VISIBILITY_SECONDS),
    'retry.maxSeconds',
    retry.maxSeconds,
    `whole seconds from 1 to ${MAX_VISIBILITY_SECONDS}`,
  );
  check(
    whole(retry.baseSeconds, 1, retry.maxSeconds),
    'retry.baseSeconds',
    retry.baseSeconds,
    'whole seconds from 1 to retry.maxSeconds',
  );
  check(
    whole(task.timeoutSeconds, 1, MAX_TIMEOUT_SECONDS),
    'timeoutSeconds',
    task.timeoutSeconds,
    `whole seconds from 1 to ${MAX_TIMEOUT_SECONDS}`,
  );
  const mode = task.mode ?? ('normal' as M);
  check(MODES.includes(mode), 'mode', mode, MODES.join(', '));
  check(task.orderBy !== '', 'orderBy', '""', 'the name of an input field');
  return { ...task, expose: task.expose ?? [], retry, mode };
}

export interface WorkflowContract<I extends Schema = Schema> {
  readonly name: string;
  readonly input: I;
  readonly tasks: readonly TaskContract[];
}

/** Names a workflow, the shape of its input and the tasks that it may run. */
export function defineWorkflow<I extends Schema>(workflow: WorkflowContract<I>): WorkflowContract<I> {
  assertWorkflowName(workflow.name);
  const seen = new Set<string>();
  for (const { type } of workflow.tasks) {
    if (seen.has(type)) throw new ContractError(`workflow ${workflow.name}: task ${type} is listed twice`);
    seen.add(type);
  }
  return workflow;
}

/** One thing that is wrong with a value: where, and why. The value itself is not repeated. */
export interface Problem {
  /** JSON Pointer into the value, `` for the whole. */
  readonly pointer: string;
  readonly detail: string;
}

/** Checks a value against a schema; problems (at most 20) carry a JSON Pointer and never the value. */
export function checkValue<S extends Schema>(
  schema: S,
  value: unknown,
):
  | { readonly ok: true; readonly value: z.infer<S> }
  | { readonly ok: false; readonly problems: readonly Problem[] } {
  const parsed = z.safeParse(schema, value);
  if (parsed.success) return { ok: true, value: parsed.data };
  return {
    ok: false,
    problems: parsed.error.issues.slice(0, 20).map((issue) => ({
      pointer: issue.path.map((part) => `/${escapePointer(part)}`).join(''),
      detail: issue.message.slice(0, 200),
    })),
  };
}

/** Problems in one line, without the value. */
export const problemsText = (problems: readonly Problem[]): string =>
  problems.map(({ pointer, detail }) => `${pointer || '/'} ${detail}`).join('; ');

/** What a handler gets beside its input. */
export interface TaskContext {
  readonly taskId: string;
  readonly runId: string;
  readonly tenant: string;
  readonly correlationId: string;
  /** The same for every try of this task: hand it to the downstream. */
  readonly idempotencyKey: string;
  /** Tries in this round, from 1. */
  readonly attempt: number;
  /** Aborts shortly before the function's deadline. */
  readonly signal: AbortSignal;
  /** Milliseconds until the function's deadline. */
  readonly remainingMs: () => number;
  readonly log: import('./ports.ts').Log;
}

/** What the handler of a `transactional` task returns: its result, and its effect as writes of the same transaction. */
export interface InTransaction<T> {
  readonly output: T;
  /** At most {@link MAX_TABLE_WRITES}. Each item at most once; the function needs the grants of its writes. */
  readonly writes: readonly TableWrite[];
  /**
   * The error that a refused condition of one of the writes means: a `PermanentError` for a rule of the business (out
   * of stock). Default: the handler is called again, which is right where the condition guards what it has read.
   */
  readonly refused?: (conditions: readonly RefusedWrite[]) => Error;
}

/** A contract and the code that fulfils it. Made by {@link handle}. */
export interface TaskHandler {
  readonly contract: TaskContract;
  readonly run: (input: unknown, context: TaskContext) => Promise<unknown>;
}

/**
 * Binds a handler to its contract.
 * @example export const reserve = handle(reserveStock, async (order, ctx) => ({ reservationId: await stock.reserve(order.lines, ctx.idempotencyKey) }))
 */
export function handle<I extends Schema, O extends Schema, M extends TaskMode = 'normal'>(
  contract: TaskContract<I, O, M>,
  run: (
    input: z.infer<I>,
    context: TaskContext,
  ) => Promise<M extends 'transactional' ? InTransaction<z.infer<O>> : z.infer<O>>,
): TaskHandler {
  return { contract, run: run as TaskHandler['run'] };
}
