/** Every minute: open runs that are due, and whatever fell through. */
import { dynamoClient } from '#adapters/dynamo-client.ts';
import { dynamoStore } from '#adapters/dynamo-store.ts';
import { s3Payloads } from '#adapters/s3-payloads.ts';
import { sfnAnswers, sfnClient, sfnExecutions } from '#adapters/sfn.ts';
import { sqsClient, sqsCommands, sqsQueueDepth, sqsRetelling } from '#adapters/sqs.ts';
import { sqsDeadLetterPeek } from '#adapters/sqs-letters.ts';
import { systemClock } from '#adapters/system.ts';
import { viewRows } from '#adapters/view-rows.ts';
import { closer } from '#core/close.ts';
import { type DeployedWorkflow, ENV } from '#core/env-names.ts';
import { required, requiredJson } from '#runtime/env.ts';
import { byImage } from '#runtime/stream.ts';
import { sweepEntry } from '#runtime/sweep-entry.ts';

const stateTable = required(ENV.stateTable);
const dynamo = dynamoClient();
const store = dynamoStore(dynamo, stateTable);
const sfn = sfnClient();
const sqs = sqsClient();
const workQueues = requiredJson<Record<string, string>>(ENV.workQueues);
const payloads = s3Payloads({ bucket: required(ENV.payloadBucket) });

export const handler = sweepEntry({
  store,
  payloads,
  clock: systemClock,
  executions: sfnExecutions(sfn),
  answers: sfnAnswers(sfn),
  commands: sqsCommands(sqs, workQueues),
  queues: sqsQueueDepth(sqs, workQueues),
  closer: closer({ store, payloads, clock: systemClock }),
  views: viewRows(dynamoStore(dynamo, required(ENV.viewsTable))),
  retelling: sqsRetelling(sqs, required(ENV.projectQueue), required(ENV.retryQueue), (after) =>
    byImage.pack({ before: undefined, after }),
  ),
  letters: sqsDeadLetterPeek(sqs, requiredJson<Record<string, string>>(ENV.deadLetterQueues)),
  workflows: new Map(Object.entries(requiredJson<Record<string, DeployedWorkflow>>(ENV.workflows))),
  deployment: stateTable,
});
