import type { Mapping } from './mapping.ts';

/** What a RunTask state hands to dispatch: built at synth, filled in by Step Functions. */
export interface DispatchRequest {
  readonly token: string;
  readonly runId: string;
  readonly workflow: string;
  /** Number of the run's execution, from the execution's input. */
  readonly execution: number;
  /** `$$.Execution.RedriveCount`, 0 where the cloud has none. */
  readonly redrive: number;
  /** `$$.State.RetryCount`. */
  readonly entry: number;
  /** `$$.State.EnteredTime`, ISO 8601. */
  readonly entered: string;
  readonly step: string;
  readonly task: {
    readonly type: string;
    readonly version: number;
    readonly tries: number;
    /** Input field by which tasks of an ordered pool keep their order. */
    readonly orderBy?: string;
  };
  readonly timeoutSeconds: number;
  readonly input: Mapping;
}

/** Input of every execution: the run's payload stays in the table. */
export interface ExecutionInput {
  readonly runId: string;
  readonly execution: number;
}

/** Error name that a state sees when a command could not be published: the state itself tries again. */
export const DISPATCH_FAILED = 'DispatchFailed';

/** Error name of a task that said no, for a Catch of the workflow. */
export const TASK_REFUSED = 'TaskRefused';

/** Error name of a command that cannot be built from what the workflow maps: no repetition helps. */
export const INVALID_COMMAND = 'InvalidCommand';

/** Grace between a step's own time-out and that of its state, seconds: the sweeper and late commits come first. */
export const STEP_GRACE_SECONDS = 30;
