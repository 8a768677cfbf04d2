/** What commands need of a cloud. Each port has its adapter in aws/. */
import type { DeployedWorkflow } from '#core/env-names.ts';
import type { StepItem } from '#core/items.ts';
import type { RunView } from '#core/run-view.ts';

export interface DeadLetterBox {
  /** Pool, subscriber or function, as in the stack's output. */
  readonly name: string;
  readonly dlqUrl: string;
}

/** A queue that may leave dead letters, with their queue. */
export interface Source extends DeadLetterBox {
  readonly queueUrl: string;
  readonly queueArn: string;
  /** Command types that it takes; none for subscribers and retry queues. */
  readonly types: readonly string[];
}

/** What the stack tells of itself. */
export interface Pipeline {
  readonly api: { readonly url: string; readonly id: string };
  readonly stateTable: string;
  readonly viewsTable: string;
  readonly payloadBucket: string;
  readonly stubTable?: string;
  readonly eventsTopic: string;
  readonly machines: Readonly<Record<string, string>>;
  readonly sources: readonly Source[];
  /** Dead letters of what is no queue: they can be looked at, not sent back. */
  readonly others: readonly DeadLetterBox[];
  /** Lambda's name by ours: `worker-shipping` -> `edow-dev-pipeline-...`. */
  readonly functions: Readonly<Record<string, string>>;
}

export interface StackState {
  readonly name: string;
  /** CloudFormation's word, e.g. CREATE_COMPLETE; undefined: there is no such stack. */
  readonly status?: string;
}

export interface Stacks {
  /** @throws CliError `not_deployed` */
  pipeline(): Promise<Pipeline>;
  states(): Promise<readonly StackState[]>;
}

export interface Started {
  readonly id: string;
  readonly workflow: string;
  readonly status: string;
  /** The same request was seen before: this is its run. */
  readonly repeated: boolean;
}

export interface RunSummary {
  readonly id: string;
  readonly workflow: string;
  readonly status: string;
  readonly execution: number;
  readonly startedAt: string;
  readonly updatedAt: string;
}

export interface RunPage {
  readonly runs: readonly RunSummary[];
  readonly next?: string;
  readonly staleness: string;
}

export interface RunQuery {
  readonly workflow?: string;
  readonly status?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

/** The HTTP API, as any signed caller sees it. Throws CliError for every refusal. */
export interface Api {
  start(workflow: string, key: string, body: string): Promise<Started>;
  run(id: string): Promise<RunView>;
  runs(query: RunQuery): Promise<RunPage>;
}

export interface MessageAttribute {
  readonly dataType: string;
  readonly text?: string;
  readonly bytes?: Uint8Array;
}

/** A message of a dead-letter queue, held until its visibility ends. */
export interface DeadLetter {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, MessageAttribute>>;
  /** SQS's own: fair queues group by it. */
  readonly groupId?: string;
  /** When it was first sent, epoch milliseconds: moving to the dead letters keeps it. */
  readonly sentAt: number;
}

/** What is sent back for a letter. */
export interface LetterCopy {
  readonly body: string;
  readonly attributes: Readonly<Record<string, MessageAttribute>>;
  readonly groupId?: string;
  /** For FIFO queues. */
  readonly deduplicationId?: string;
}

export interface DeadLetters {
  /** At most 10, hidden from others for so long. Empty: none are to be seen now. */
  receive(dlqUrl: string, hiddenSeconds: number): Promise<readonly DeadLetter[]>;
  /** How many are hidden just now, by us and by others; approximate. */
  hidden(dlqUrl: string): Promise<number>;
  /** Lets them be seen again at once. */
  release(dlqUrl: string, letters: readonly DeadLetter[]): Promise<void>;
  send(queueUrl: string, copy: LetterCopy): Promise<void>;
  remove(dlqUrl: string, letter: DeadLetter): Promise<void>;
}

/** The task that a dead letter is about; undefined: not on record. */
export type TaskLookup = (runId: string, stepKey: string) => Promise<StepItem | undefined>;

/** Approximate numbers of messages. */
export interface Depth {
  readonly waiting: number;
  readonly inFlight: number;
}

export type QueueDepths = (queueUrl: string) => Promise<Depth>;

/** What feeds functions from queues. */
export interface Feeds {
  /** Lambda's word: Enabled, Disabled, Enabling, Disabling, Updating ... */
  state(functionName: string, queueArn: string): Promise<string>;
  /** Asks for it; {@link state} tells when it is so. */
  turn(functionName: string, queueArn: string, on: boolean): Promise<void>;
}

export interface LogEntry {
  /** Epoch milliseconds. */
  readonly time: number;
  readonly text: string;
}

export interface Functions {
  /** Workflows as the functions know them: state machine and hash of the definition. */
  workflows(functionName: string): Promise<ReadonlyMap<string, DeployedWorkflow>>;
  /** Log entries since `from`, oldest first, at most `limit` (the newest); `containing` is a literal text. */
  logs(
    functionName: string,
    query: { readonly from: number; readonly limit: number; readonly containing?: string },
  ): Promise<readonly LogEntry[]>;
}
