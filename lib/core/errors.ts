/** The tree of errors. `code` is stable and may be relied on; messages say the wrong value, the allowed one and what to do. */

export class EdowError extends Error {
  // Names are written out in every class: bundles are minified, and a name is what operators see.
  override readonly name: string = 'EdowError';
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** What a log line says of an error: never its message, which may quote what somebody sent. */
export function errorFields(error: unknown): Record<string, string | undefined> {
  if (!(error instanceof Error)) return { error: typeof error };
  const code = 'code' in error ? String(error.code) : undefined;
  return { error: error.name, code, cause: error.cause instanceof Error ? error.cause.name : undefined };
}

/**
 * Code is wrong, and trying again does not help: a contract, a workflow or a construct, told at synth or at load; what a
 * handler returns or a mapping finds, told by the task that it fails.
 */
export class ContractError extends EdowError {
  override readonly name: string = 'ContractError';
  constructor(message: string, options?: ErrorOptions) {
    super('contract', message, options);
  }
}

/** A port could not say whether the call took effect, or refused it for now: try again. */
export class PortUnavailable extends EdowError {
  override readonly name: string = 'PortUnavailable';
  constructor(message: string, options?: ErrorOptions) {
    super('port_unavailable', message, options);
  }
}

/** A payload that a pointer names is missing, elsewhere than it may be, or changed: trying again does not help. */
export class PayloadGone extends EdowError {
  override readonly name: string = 'PayloadGone';
  constructor(message: string) {
    super('payload_gone', message);
  }
}

// What task authors throw. Everything else that a handler throws is retryable.

export interface TaskErrorOptions extends ErrorOptions {
  /** This try certainly had no effect: nothing to undo for it. Default false. */
  readonly noEffect?: boolean;
}

export class TaskError extends EdowError {
  override readonly name: string = 'TaskError';
  readonly noEffect: boolean;
  constructor(code: string, message: string, options: TaskErrorOptions = {}) {
    super(code, message, options);
    this.noEffect = options.noEffect ?? false;
  }
}

/** Trying again cannot help: the step fails at once and the message goes to the dead-letter queue. */
export class PermanentError extends TaskError {
  override readonly name: string = 'PermanentError';
  /** The task says no on purpose (a declined card): the run ends, it is not held for a fix. Default false. */
  readonly refused: boolean;
  constructor(message: string, options: TaskErrorOptions & { readonly refused?: boolean } = {}) {
    super('permanent', message, options);
    this.refused = options.refused ?? false;
  }
}

/** A downstream asks us to come back later: the wait does not count as a try. */
export class RetryAfterError extends TaskError {
  override readonly name: string = 'RetryAfterError';
  /** Whole or fractional seconds; clamped to what the queue can do. */
  readonly seconds: number;
  constructor(message: string, seconds: number, options: TaskErrorOptions = {}) {
    super('throttled', message, options);
    this.seconds = seconds;
  }
}

/**
 * Whether the effect happened is not known (the downstream did not answer). With an idempotency key it is simply tried
 * again; a task of mode `atMostOnce` waits for a person's word.
 */
export class UnknownOutcomeError extends TaskError {
  override readonly name: string = 'UnknownOutcomeError';
  constructor(message: string, options: ErrorOptions = {}) {
    super('unknown_outcome', message, options);
  }
}
