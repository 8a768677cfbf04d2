/** Binds core's dispatch to its state: whatever goes wrong, the state hears of it. */
import { type DispatchPorts, dispatcher } from '#core/dispatch.ts';
import { DISPATCH_FAILED, type DispatchRequest } from '#core/dispatch-request.ts';
import { errorFields } from '#core/errors.ts';
import { chain } from './chain.ts';

/**
 * The entry point of dispatch. A thrown error may go unseen until the state's time-out: the token is told instead, and
 * the state tries again. Only an error of the answer itself is thrown.
 */
export function dispatchEntry(ports: DispatchPorts) {
  const { dispatch } = dispatcher(ports);
  return chain<DispatchRequest, void>('dispatch', async (request, context) => {
    const log = context.log.child({ run: request.runId, step: request.step, type: request.task?.type });
    try {
      await dispatch(request, log);
    } catch (error) {
      const fields = errorFields(error);
      log.error('dispatch failed', fields);
      await ports.answers.fail(request.token, DISPATCH_FAILED, `dispatch failed: ${fields['error']}`);
    }
  });
}
