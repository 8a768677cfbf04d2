/** A downstream behind HTTP: POST with the idempotency key as a header. */
import type { Downstream } from '#core/downstream.ts';
import { PermanentError, RetryAfterError } from '#core/errors.ts';

/** Wait when the downstream says "later" without saying when, seconds. */
const DEFAULT_RETRY_AFTER = 5;
/** Nobody asks to wait longer than a day in earnest. */
const MAX_RETRY_AFTER = 86_400;

/** Retry-After as seconds: a number, or a date. Anything else counts as the default. */
export function retryAfterSeconds(header: string | null, now: number): number {
  if (header === null) return DEFAULT_RETRY_AFTER;
  const seconds = /^\d{1,9}$/.test(header.trim()) ? Number(header) : (Date.parse(header) - now) / 1000;
  if (!Number.isFinite(seconds) || seconds < 0) return DEFAULT_RETRY_AFTER;
  return Math.min(MAX_RETRY_AFTER, seconds);
}

/** @param root address without a slash at its end */
export function httpDownstream(root: string, now: () => number = Date.now): Downstream {
  return {
    async call({ operation, idempotencyKey, body, signal }) {
      const response = await fetch(`${root}/${operation}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
        body: JSON.stringify(body),
        signal,
      });
      if (response.ok) return (await response.json()) as Record<string, unknown>;
      const what = `${operation} answered ${response.status}`;
      if (response.status === 429 || (response.status === 503 && response.headers.has('retry-after')))
        throw new RetryAfterError(what, retryAfterSeconds(response.headers.get('retry-after'), now()), {
          noEffect: true,
        });
      if (response.status < 500 && response.status !== 408)
        throw new PermanentError(what, { noEffect: true });
      throw new Error(what);
    },
  };
}
