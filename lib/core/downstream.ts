/** What the reference workers call: some other system that knows idempotency keys. */

export interface DownstreamCall {
  /** What to do: `inventory/reservations`, `payment/charges` ... */
  readonly operation: string;
  /** The task's idempotency key: the same key again has no second effect. */
  readonly idempotencyKey: string;
  readonly body: { readonly [name: string]: unknown };
  readonly signal: AbortSignal;
}

export interface Downstream {
  /**
   * Answers with the downstream's own words.
   * Throws {@link RetryAfterError} when told to wait, {@link PermanentError} when refused for good, and a plain error
   * for everything that may pass.
   */
  call(request: DownstreamCall): Promise<{ readonly [name: string]: unknown }>;
}
