/** Called by a state that waits: puts the step, publishes its command or answers from memory. */
import { dynamoClient } from '#adapters/dynamo-client.ts';
import { dynamoStore } from '#adapters/dynamo-store.ts';
import { s3Payloads } from '#adapters/s3-payloads.ts';
import { sfnAnswers, sfnClient } from '#adapters/sfn.ts';
import { snsClient, snsCommands } from '#adapters/sns-publisher.ts';
import { systemClock, systemIds } from '#adapters/system.ts';
import { dispatcher } from '#core/dispatch.ts';
import { DISPATCH_FAILED, type DispatchRequest } from '#core/dispatch-request.ts';
import { ENV } from '#core/env-names.ts';
import { errorFields } from '#core/errors.ts';
import { chain } from '#runtime/chain.ts';
import { required } from '#runtime/env.ts';

const answers = sfnAnswers(sfnClient());
const { dispatch } = dispatcher({
  store: dynamoStore(dynamoClient(), required(ENV.stateTable)),
  commands: snsCommands({ client: snsClient(), topicArn: required(ENV.commandsTopic), ids: systemIds() }),
  answers,
  payloads: s3Payloads({ bucket: required(ENV.payloadBucket) }),
  clock: systemClock,
});

export const handler = chain<DispatchRequest, void>('dispatch', async (request, context) => {
  const log = context.log.child({ run: request.runId, step: request.step, type: request.task?.type });
  try {
    await dispatch(request, log);
  } catch (error) {
    // A thrown error may go unseen until the state's time-out: the token is told, and the state tries again.
    const fields = errorFields(error);
    log.error('dispatch failed', fields);
    await answers.fail(request.token, DISPATCH_FAILED, `dispatch failed: ${fields['error']}`);
  }
});
