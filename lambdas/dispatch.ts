/** Called by a state that waits: puts the step, publishes its command or answers from memory. */
import { dynamoClient } from '#adapters/dynamo-client.ts';
import { dynamoStore } from '#adapters/dynamo-store.ts';
import { s3Payloads } from '#adapters/s3-payloads.ts';
import { sfnAnswers, sfnClient } from '#adapters/sfn.ts';
import { snsClient, snsCommands } from '#adapters/sns-publisher.ts';
import { systemClock, systemIds } from '#adapters/system.ts';
import { ENV } from '#core/env-names.ts';
import { dispatchEntry } from '#runtime/dispatch-entry.ts';
import { optional, required } from '#runtime/env.ts';

export const handler = dispatchEntry({
  store: dynamoStore(dynamoClient(), required(ENV.stateTable)),
  commands: snsCommands({
    client: snsClient(),
    topicArn: required(ENV.commandsTopic),
    orderedTopicArn: optional(ENV.orderedTopic),
    ids: systemIds(),
  }),
  answers: sfnAnswers(sfnClient()),
  payloads: s3Payloads({ bucket: required(ENV.payloadBucket) }),
  clock: systemClock,
});
