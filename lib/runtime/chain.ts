/** The one middy chain: every entry point gets its log, its deadline and the same end for what it did not expect. */
import middy from '@middy/core';
import type { Context } from 'aws-lambda';
import { ENV } from '#core/env-names.ts';
import { errorFields } from '#core/errors.ts';
import type { Log } from '#core/ports.ts';
import { createLog } from './log.ts';

/** What the chain puts on Lambda's context. */
export interface StageContext extends Context {
  log: Log;
  /** Epoch milliseconds at which Lambda ends this call. */
  deadlineAt: number;
}

/**
 * Wraps the work of one stage.
 * @param stage name of the lambda, as it stands in lambdas/
 * @param onError the answer for an error that nothing below caught; default: throw it on, so that Lambda tries again
 */
export function chain<Event, Answer>(
  stage: string,
  work: (event: Event, context: StageContext) => Promise<Answer>,
  onError?: (error: unknown, context: StageContext) => Answer,
) {
  return middy<Event, Answer, Error, StageContext>()
    .before(({ context }) => {
      context.deadlineAt = Date.now() + context.getRemainingTimeInMillis();
      context.log = createLog({ stage, request: context.awsRequestId }, process.env[ENV.logLevel]);
    })
    .onError((request) => {
      const { error, context } = request;
      // The name only: a message may quote what the caller sent.
      context.log?.error('unexpected error', errorFields(error));
      if (onError) request.response = onError(error, context);
      // Lambda prints what is thrown, message and stack, and hands it to failure destinations.
      else request.error = bareError(error);
    })
    .handler(work);
}

/** An error that says no more than its name: what went wrong is in the log entry before it. */
function bareError(error: unknown): Error {
  const bare = new Error('the log entry before this one says what is known');
  bare.name = error instanceof Error ? error.name : 'Error';
  bare.stack = `${bare.name}: ${bare.message}`;
  return bare;
}
