/** One way to call AWS: what the service said is an answer, all else is {@link PortUnavailable}. */
import { EdowError, PortUnavailable } from '#core/errors.ts';
import { callSignal } from './call-signal.ts';

/** Answers of 400 that mean "not now": the services' own names for throttling, and what ends by itself. */
const NOT_NOW = new Set([
  'ExecutionLimitExceeded',
  'ExpiredToken',
  'ExpiredTokenException',
  'KMSThrottlingException',
  'KmsThrottled',
  'LimitExceededException',
  'OverLimit',
  'ProvisionedThroughputExceededException',
  'RequestExpired',
  'RequestLimitExceeded',
  'RequestThrottled',
  'RequestTimeout',
  'RequestTimeoutException',
  'SlowDown',
  'Throttled',
  'ThrottledException',
  'Throttling',
  'ThrottlingException',
  'TooManyRequestsException',
  'TransactionConflictException',
  'TransactionInProgressException',
]);

interface ServiceError {
  readonly name: string;
  readonly $fault?: 'client' | 'server';
  readonly $metadata?: { readonly httpStatusCode?: number };
}

const asServiceError = (error: unknown): ServiceError =>
  error instanceof Error ? (error as ServiceError) : { name: typeof error };

/** The service understood the request and refused it. Everything else leaves open what happened. */
export function isRefusal(error: unknown): boolean {
  const { name, $fault, $metadata } = asServiceError(error);
  const status = $metadata?.httpStatusCode ?? 0;
  return $fault === 'client' && status !== 429 && status < 500 && !NOT_NOW.has(name);
}

/** Turns an answer of the service that the caller knows into a result; undefined for all that it does not know. */
type Known<T> = (name: string, error: unknown) => T | undefined;

/** The end of the time of the record that the call is for. */
export interface CallOptions {
  readonly abortSignal?: AbortSignal;
}

const ENDLESS: CallOptions = {};

/** What the next call of this name is sent with. @throws PortUnavailable when the time of its record is over */
export function optionsOf(what: string): CallOptions {
  const signal = callSignal();
  if (signal?.aborted) throw new PortUnavailable(`${what} was not sent: the time of its record is over`);
  return signal ? { abortSignal: signal } : ENDLESS;
}

/**
 * What a failed call means.
 * @param what port and operation, for the message; neither keys nor payloads
 * @throws PortUnavailable throttled, timed out, connection lost, server error: the call may or may not have happened
 * @throws EdowError `port_refused` for any other refusal (no permission, no such table): the message names it, the
 * service's own text, which may repeat what was sent, is only in `cause`
 */
export function answerIn<T>(what: string, error: unknown, known: Known<T>): T {
  const { name } = asServiceError(error);
  const answer = known(name, error);
  if (answer !== undefined) return answer;
  if (isRefusal(error)) throw new EdowError('port_refused', `${what} was refused: ${name}`, { cause: error });
  throw new PortUnavailable(`${what} is unavailable: ${name}`, { cause: error });
}

/** Makes one call, which ends with the time of its record; its failure is judged by {@link answerIn}. */
export async function call<T>(
  what: string,
  send: (options: CallOptions) => Promise<T>,
  known: Known<T> = () => undefined,
): Promise<T> {
  const options = optionsOf(what);
  try {
    return await send(options);
  } catch (error) {
    return answerIn(what, error, known);
  }
}
