/** What core needs of the world. Each port has an in-memory adapter and one on AWS, held together by one contract suite. */
import type { ClosedDead, DeadMessageRow, DeadQuery, DeadRow, DeadTaskRow } from './dead-rows.ts';
import type { Command, Envelope } from './envelope.ts';
import type { Item } from './store.ts';

export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
}

export interface Ids {
  /** A ULID, for runs. */
  runId(): string;
  /** Random text that no other call returns, for lease owners. */
  nonce(): string;
  /** 16 random bytes as 32 lower-case hex digits, for trace ids. */
  traceId(): string;
  /** A number from 0 (inclusive) to 1 (exclusive). */
  random(): number;
}

/** The topic of commands. */
export interface Commands {
  /** Publishes all; returns the ids of those that the topic did not take after the adapter's own bounded retries. */
  publish(commands: readonly Command[]): Promise<string[]>;
}

/** The topic of events. */
export interface Events {
  /** As {@link Commands.publish}. */
  publish(events: readonly Envelope[]): Promise<string[]>;
}

/** `refused`: timed out, does not exist, or was answered before. */
export type AnswerResult = 'accepted' | 'refused';

/** Task tokens. Both throw {@link PortUnavailable} when throttled or unreachable. */
export interface Answers {
  /** @param output JSON text */
  succeed(token: string, output: string): Promise<AnswerResult>;
  /** @param error at most 256 characters; @param cause at most 32,768 */
  fail(token: string, error: string, cause: string): Promise<AnswerResult>;
}

export type ExecutionStatus = 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'TIMED_OUT' | 'ABORTED';

export interface ExecutionState {
  readonly status: ExecutionStatus;
  /** JSON text. */
  readonly output?: string;
  readonly error?: string;
  readonly cause?: string;
}

export interface Executions {
  /** `exists`: an execution with this name is there, whatever its state. `throttled`: nothing was started. */
  start(stateMachineArn: string, name: string, input: string): Promise<'started' | 'exists' | 'throttled'>;
  /** undefined: there is no such execution. */
  describe(stateMachineArn: string, name: string): Promise<ExecutionState | undefined>;
}

/** Objects in the payload bucket. A pointer is `s3://bucket/key#sha256`, its hash that of the text, however it is kept. */
export interface Payloads {
  /** Stores JSON text under the key, which begins with its tenant; the same again is no error. Returns the pointer. */
  put(key: string, text: string): Promise<string>;
  /**
   * Throws {@link PayloadGone} (missing, outside our bucket and prefix, another tenant's than the one that asks, or
   * other content than its hash says).
   */
  get(pointer: string, tenant: string): Promise<string>;
}

/** Messages of a work queue while a worker holds them. */
export interface Visibility {
  /** @param seconds whole, from 0; SQS refuses an end later than 12 hours (43,200 s) after the receive */
  change(receiptHandle: string, seconds: number): Promise<void>;
}

/** Stream records that failed, for another try outside the stream. */
export interface RetryQueue {
  /** @param record as its function packs it, at most 1 MiB */
  send(record: string): Promise<void>;
}

export interface QueueDepth {
  /** Messages waiting in the work queue of this command type (approximate); undefined: nobody subscribes to it. */
  waiting(commandType: string): Promise<number | undefined>;
}

/** A message among the dead letters of a pool. */
export interface PeekedLetter {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  /** When it was first sent, epoch milliseconds: moving to the dead letters keeps it. */
  readonly sentAt: number;
}

/** Dead-letter queues of the pools. Nothing is deleted; what was peeked at is hidden from others for seconds only. */
export interface DeadLetterPeek {
  readonly pools: readonly string[];
  /** About `limit` letters at most, each once. Empty: there are none, or others hold them. */
  peek(pool: string, limit: number): Promise<readonly PeekedLetter[]>;
  /** Lets them be seen again at once. What cannot be released comes back by itself. */
  release(pool: string, letters: readonly PeekedLetter[]): Promise<void>;
}

/** The way back to the topic of events for what its follower lost. */
export interface Retelling {
  /** Events that the projector has still to take (approximate): while there are many, what is missing may be among them. */
  waiting(): Promise<number>;
  /** Hands an item's image to relay once more. */
  tell(image: Item): Promise<void>;
}

/** Structured log. Fields never hold payloads, tokens or secrets. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A log whose lines carry these fields too. */
  child(fields: LogFields): Log;
}
export type LogFields = { readonly [name: string]: string | number | boolean | undefined };

/** A run as the list shows it. Times are epoch milliseconds; `seq` orders the states of one run. */
export interface RunRow {
  readonly tenant: string;
  readonly runId: string;
  readonly workflow: string;
  readonly status: string;
  readonly execution: number;
  readonly startedAt: number;
  readonly updatedAt: number;
  readonly seq: number;
  /** Whole epoch seconds; absent while the run is open. */
  readonly expiresAt?: number;
}

/** One thing that happened in a run. */
export interface TimelineEntry {
  readonly runId: string;
  /** ISO 8601. */
  readonly time: string;
  readonly eventId: string;
  readonly type: string;
  /** The task, or the run, that it happened to. */
  readonly source: string;
  readonly detail?: string;
  /** Whole epoch seconds. */
  readonly expiresAt: number;
}

export interface RunListQuery {
  readonly tenant: string;
  readonly workflow?: string;
  readonly status?: string;
  /** 1 to 100. */
  readonly limit: number;
  /** Opaque position from an earlier page. */
  readonly after?: string;
}

/** Read models. They lag behind the truth by about a second, more when the stream is late. */
export interface ViewRows {
  /** Stores the row unless a newer one (by `seq`) is there. */
  putRunRow(row: RunRow): Promise<void>;
  /** The same entry again is no error. */
  addToTimeline(entry: TimelineEntry): Promise<void>;
  /** In order of time. */
  timeline(runId: string): Promise<readonly TimelineEntry[]>;
  /** As it was last put; strongly consistent. */
  runRow(tenant: string, runId: string): Promise<RunRow | undefined>;
  /** Puts a task's row unless an outcome of the same `seq` or a newer one is on record; a message's, unless there was one. */
  putDead(row: DeadRow): Promise<void>;
  /** Closes a task's row, if there is one, and refuses rows of older outcomes from now on. */
  closeDead(closed: ClosedDead): Promise<void>;
  /** Closes a message's row: the message is gone. */
  closeDeadMessage(messageId: string, expiresAt: number): Promise<void>;
  /** Open rows of one run's tasks; strongly consistent. */
  deadOfRun(runId: string): Promise<readonly DeadTaskRow[]>;
  deadMessage(messageId: string): Promise<DeadMessageRow | undefined>;
}

/** Read models with their lists. */
export interface Views extends ViewRows {
  /** Newest first. `next` is the position after the last row; absent at the end. */
  listRuns(query: RunListQuery): Promise<{ readonly rows: readonly RunRow[]; readonly next?: string }>;
  /** Open rows of one shard, newest death first. `next` is absent at the end. */
  listDead(query: DeadQuery): Promise<{ readonly rows: readonly DeadRow[]; readonly next?: string }>;
}
