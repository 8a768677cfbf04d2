/** Binds core's dispatch to its state: whatever goes wrong, the state hears of it. */
import { type DispatchPorts, dispatcher } from '#core/dispatch.ts';
import { DISPATCH_FAILED, type DispatchRequest } from '#core/dispatch-request.ts';
import { EdowError, errorFields } from '#core/errors.ts';
import { chain } from './chain.ts';
import { inTime, RECORD_MS, within } from './in-time.ts';

/** The name under which a state sees a call that could not even tell its token: the state tries again. */
class DispatchFailed extends EdowError {
  override readonly name: string = DISPATCH_FAILED;
}

/**
 * The entry point of dispatch. A thrown error may go unseen until the state's time-out: the token is told instead, and
 * the state tries again. Only an error of the answer itself is thrown.
 */
export function dispatchEntry(ports: DispatchPorts) {
  const { dispatch } = dispatcher(ports);
  return chain<DispatchRequest, void>('dispatch', async (request, context) => {
    const log = context.log.child({ run: request.runId, step: request.step, type: request.task?.type });
    try {
      await inTime(() => dispatch(request, log));
    } catch (error) {
      const fields = errorFields(error);
      log.error('dispatch failed', fields);
      const cause = `dispatch failed: ${fields['error']}`;
      await within(RECORD_MS, () => ports.answers.fail(request.token, DISPATCH_FAILED, cause)).catch(
        (unanswered) => {
          throw new DispatchFailed('dispatch_failed', 'the token could not be told', { cause: unanswered });
        },
      );
    }
  });
}
