/** Table stream -> answer of the step's token; lets healed runs go on. */
import { dynamoClient } from '#adapters/dynamo-client.ts';
import { dynamoStore } from '#adapters/dynamo-store.ts';
import { sfnAnswers, sfnClient, sfnExecutions } from '#adapters/sfn.ts';
import { sqsClient, sqsRetryQueue } from '#adapters/sqs.ts';
import { systemClock } from '#adapters/system.ts';
import { collector } from '#core/collect.ts';
import { type DeployedWorkflow, ENV } from '#core/env-names.ts';
import { asStep } from '#core/items.ts';
import { chain } from '#runtime/chain.ts';
import { required, requiredJson } from '#runtime/env.ts';
import { byKey, streamHandler } from '#runtime/stream.ts';
import { eachChange } from '#runtime/stream-work.ts';

const store = dynamoStore(dynamoClient(), required(ENV.stateTable));
const sfn = sfnClient();
const { collect } = collector({
  store,
  answers: sfnAnswers(sfn),
  executions: sfnExecutions(sfn),
  clock: systemClock,
  workflows: new Map(Object.entries(requiredJson<Record<string, DeployedWorkflow>>(ENV.workflows))),
});

export const handler = chain(
  'collect',
  streamHandler(
    { aside: byKey(store), retries: sqsRetryQueue(sqsClient(), required(ENV.retryQueue)) },
    eachChange(({ after }, log) => collect(asStep(after), log)),
  ),
);
