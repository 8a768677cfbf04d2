/** The items of table `state`. Attribute names are the stored ones. Times are epoch milliseconds, `expiresAt` whole seconds. */
import type { Item, Key } from './store.ts';

export type TaskStatus = 'ready' | 'claimed' | 'retrying' | 'done' | 'dead' | 'cancelled' | 'surplus';

/**
 * Why a task gave up. `unknown`: a task of mode `atMostOnce` whose effect may have happened. `key_parked`: an earlier
 * task of its ordering key is dead.
 */
export type DeadReason = 'permanent' | 'exhausted' | 'expired' | 'starved' | 'unknown' | 'key_parked';

/** `succeeded` and `failed` are terminal; a `held` run waits for a fix, a replay or a person. */
export type RunStatus = 'running' | 'held' | 'succeeded' | 'failed';

export type ErrorClass = 'retryable' | 'permanent' | 'throttled' | 'unknown-outcome';

/** A failure as it is kept: bounded and redacted (see failure.ts), never a payload. */
export interface Failure {
  readonly class: ErrorClass;
  readonly name: string;
  readonly message: string;
  /** Groups failures with one cause: hash of class, name and the message without its numbers and ids. */
  readonly fingerprint: string;
  /** The task refused on purpose (a declined card): the run ends instead of waiting for a fix. */
  readonly refused?: boolean;
}

/** A dead task that a person decided. */
export interface Resolution {
  readonly how: 'done' | 'retry' | 'fail';
  /** ARN of the caller. */
  readonly who: string;
  readonly at: number;
  readonly why?: string;
}

/** Data that an operator changed on a dead letter before it was sent back. */
export interface Edit {
  readonly who: string;
  readonly at: number;
  /** Of the data as it is now. */
  readonly digest: string;
  /** JSON Pointers of what was changed. */
  readonly places: readonly string[];
}

/** A dead letter that an operator threw away. */
export interface Discard {
  readonly who: string;
  readonly at: number;
  readonly why: string;
  readonly messageId: string;
}

/** One finished try that did not succeed. */
export interface Attempt {
  readonly fence: number;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly class: ErrorClass;
  readonly name: string;
  readonly message: string;
  readonly worker: string;
}

/** What must be told about a change, stored with the change. `data` absent: the item's own result is the data. */
export interface Outbox {
  readonly type: string;
  /** ISO 8601. */
  readonly time: string;
  readonly source: string;
  readonly dataschema: string;
  readonly tenant: string;
  readonly correlationid: string;
  readonly traceparent: string;
  /** JSON text. */
  readonly data?: string;
}

/** An outbox that a later one has replaced: what differs from it, for the sweeper to tell again should it have been lost. */
export interface EarlierOutbox extends Pick<Outbox, 'type' | 'time' | 'dataschema' | 'data'> {
  readonly seq: number;
}

/** A step of one task and the task itself: one item is both (PK `RUN#runId`, SK `STEP#stepKey`). */
export interface StepItem extends Key {
  readonly runId: string;
  readonly stepKey: string;
  /** Command type, `domain.object.action`. */
  readonly type: string;
  readonly token: string;
  /** Ordered number of the run's execution, see {@link executionOrder}. */
  readonly execution: number;
  readonly entry: number;
  readonly deadline: number;
  readonly timeoutSeconds: number;
  /** When the present entry began, and the first one ever. */
  readonly entered: number;
  readonly firstEntered: number;
  /** Version of the contract's schemas and tries in a round, as the workflow was deployed. */
  readonly version: number;
  readonly tryLimit: number;
  /** Input field by which its tasks keep their order. */
  readonly orderBy?: string;
  /** JSON text of the input mapping (references and literals): the command can be built again from it. */
  readonly input: string;
  readonly status: TaskStatus;
  readonly fence: number;
  /** Tries in this round; a revival or a reset starts a new round. */
  readonly tries: number;
  /** Deferrals in this round: tries that a downstream put off. */
  readonly deferred?: number;
  readonly started: number;
  readonly clean: number;
  readonly seq: number;
  readonly owner?: string;
  readonly leaseUntil?: number;
  readonly claimedAt?: number;
  /** Its handler is never called again where the outcome of a try is not known. Set by the claim. */
  readonly atMostOnce?: boolean;
  /** Hash of the data of the command that was claimed last. */
  readonly digest?: string;
  readonly notBefore?: number;
  /** The execution that the present outcome belongs to: set by claim, death and reset. */
  readonly outcomeExecution?: number;
  /** `execution.entry` pairs whose commands a worker has met. */
  readonly met?: ReadonlySet<string>;
  /** JSON text of the result, or `resultRef`: a pointer into the payload bucket. */
  readonly result?: string;
  readonly resultRef?: string;
  /** JSON text of the result fields that states may see: what the token is answered with. */
  readonly exposed?: string;
  readonly doneAt?: number;
  readonly reason?: DeadReason;
  readonly failure?: Failure;
  readonly deadAt?: number;
  readonly deadMessageId?: string;
  /** When a pair was last met for the first time by the dead task. */
  readonly metAt?: number;
  /** Deaths over all rounds: a `done` after one may heal a held run. */
  readonly deaths?: number;
  /** Highest replay number that revived this task. */
  readonly replay?: number;
  readonly attempts?: readonly Attempt[];
  /** The last edit of this task's data by an operator, made on a dead letter. */
  readonly edited?: Edit;
  /** The last of its dead letters that an operator discarded. */
  readonly discarded?: Discard;
  /** The last decision of a person; a revival or a reset by the system ends it. */
  readonly resolvedBy?: Resolution;
  /** Ordered pools: PK of the line that the task stood in last, and the task id that follows it there. */
  readonly parkedAt?: string;
  readonly parkNext?: string;
  readonly unaccepted?: boolean;
  readonly republished?: number;
  readonly outbox?: Outbox;
  readonly earlier?: readonly EarlierOutbox[];
  readonly expiresAt?: number;
}

export interface RunCause {
  /** Execution status that led here: FAILED, TIMED_OUT, ABORTED. */
  readonly execution: string;
  readonly error?: string;
  readonly message?: string;
}

/** PK `RUN#runId`, SK `RUN`. */
export interface RunItem extends Key {
  readonly runId: string;
  readonly workflow: string;
  readonly definition: string;
  readonly tenant: string;
  readonly status: RunStatus;
  /** Number of the present execution, from 1. */
  readonly execution: number;
  /** Redrives of that execution from AWS's console that this run has met. */
  readonly redrive: number;
  readonly input?: string;
  readonly inputRef?: string;
  readonly correlationId: string;
  readonly traceparent: string;
  readonly startedAt: number;
  readonly updatedAt: number;
  readonly closedAt?: number;
  readonly output?: string;
  readonly outputRef?: string;
  readonly cause?: RunCause;
  /** Automatic resumes so far. */
  readonly resumes: number;
  readonly seq: number;
  readonly outbox?: Outbox;
  readonly earlier?: readonly EarlierOutbox[];
  /** Sparse index of open runs: both present until the run has ended and all of it is told. */
  readonly openShard?: string;
  readonly checkAt?: number;
  readonly checks: number;
  readonly expiresAt?: number;
}

/** PK `KEY#hash`, SK `KEY`: binds an idempotency key to a run. */
export interface KeyItem extends Key {
  readonly runId: string;
  readonly requestHash: string;
  readonly expiresAt: number;
}

export const OPEN_SHARDS = 16;
/** Ended runs stay in the index, apart from the open ones, until all of them is told: minutes. */
export const ENDED_SHARDS = 4;
/** Runs are spread over shards by their id's last character, which is random. */
const shardOf = (runId: string, shards: number): number => runId.charCodeAt(runId.length - 1) % shards;
export const openShard = (runId: string): string => `OPEN#${shardOf(runId, OPEN_SHARDS)}`;
export const endedShard = (runId: string): string => `ENDED#${shardOf(runId, ENDED_SHARDS)}`;

export const runKey = (runId: string): Key => ({ PK: `RUN#${runId}`, SK: 'RUN' });
export const stepItemKey = (runId: string, stepKey: string): Key => ({
  PK: `RUN#${runId}`,
  SK: `STEP#${stepKey}`,
});
export const keyKey = (hash: string): Key => ({ PK: `KEY#${hash}`, SK: 'KEY' });

/** Redrives of one execution from AWS's console are rounds of their own: 10,000 fit between two executions. */
const REDRIVES_PER_EXECUTION = 10_000;

/** One ordered number for (number of the run's execution, redrive count of that execution). */
export const executionOrder = (execution: number, redriveCount: number): number =>
  execution * REDRIVES_PER_EXECUTION + redriveCount;

/** The number of the run's execution in an order made by {@link executionOrder}. */
export const executionOf = (order: number): number => Math.floor(order / REDRIVES_PER_EXECUTION);

/** The pair as it is noted in `met`. */
export const pairOf = (execution: number, entry: number): string => `${execution}.${entry}`;

/** `runId/stepKey/index`; index is 0 for a step of one task. */
export const taskIdOf = (runId: string, stepKey: string, index = 0): string => `${runId}/${stepKey}/${index}`;

/** Its handler, or a person, has said no: an answer, which ends the run and which no copy takes back. */
export const isRefused = ({ status, failure }: StepItem): boolean =>
  status === 'dead' && failure?.refused === true;

/** No copy and no new execution tries it again: what it did is a person's to say, or somebody has said no. */
export const isBeyondTries = (step: StepItem): boolean =>
  (step.status === 'dead' && step.reason === 'unknown') || isRefused(step);

/** Stored items as what they are; the key says which. */
export const asStep = (item: Item): StepItem => item as unknown as StepItem;
export const asRun = (item: Item): RunItem => item as unknown as RunItem;
export const asKeyItem = (item: Item): KeyItem => item as unknown as KeyItem;

/** A run's own item and its steps, from its partition. */
export function splitPartition(items: readonly Item[]): { run: RunItem | undefined; steps: StepItem[] } {
  const run = items.find((item) => item.SK === 'RUN');
  return { run: run && asRun(run), steps: items.filter((item) => item.SK.startsWith('STEP#')).map(asStep) };
}

/** Execution names: `runId`, then `runId-2`, `runId-3` ... */
export const executionName = (runId: string, execution: number): string =>
  execution === 1 ? runId : `${runId}-${execution}`;

const EXECUTION_NAME = /^([0-9A-HJKMNP-TV-Z]{26})(?:-([2-9]|[1-9][0-9]{1,4}))?$/;

/** Reads {@link executionName} back; undefined for an execution that is none of ours. */
export function parseExecutionName(name: string): { runId: string; execution: number } | undefined {
  const match = EXECUTION_NAME.exec(name);
  if (!match?.[1]) return undefined;
  return { runId: match[1], execution: match[2] === undefined ? 1 : Number(match[2]) };
}
