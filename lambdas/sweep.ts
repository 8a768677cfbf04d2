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
import { DEPLOYMENT, METRIC } from '#core/metric-names.ts';
import { sweeper } from '#core/sweep.ts';
import { letterSweeper } from '#core/sweep-letters.ts';
import { chain } from '#runtime/chain.ts';
import { required, requiredJson } from '#runtime/env.ts';
import { count } from '#runtime/metrics.ts';
import { byImage } from '#runtime/stream.ts';

const stateTable = required(ENV.stateTable);
const dynamo = dynamoClient();
const store = dynamoStore(dynamo, stateTable);
const sfn = sfnClient();
const sqs = sqsClient();
const workQueues = requiredJson<Record<string, string>>(ENV.workQueues);
const views = viewRows(dynamoStore(dynamo, required(ENV.viewsTable)));
const payloads = s3Payloads({ bucket: required(ENV.payloadBucket) });
const { sweep } = sweeper({
  store,
  payloads,
  clock: systemClock,
  executions: sfnExecutions(sfn),
  answers: sfnAnswers(sfn),
  commands: sqsCommands(sqs, workQueues),
  queues: sqsQueueDepth(sqs, workQueues),
  closer: closer({ store, payloads, clock: systemClock }),
  views,
  retelling: sqsRetelling(sqs, required(ENV.projectQueue), required(ENV.retryQueue), (after) =>
    byImage.pack({ before: undefined, after }),
  ),
  workflows: new Map(Object.entries(requiredJson<Record<string, DeployedWorkflow>>(ENV.workflows))),
});
const { sweepLetters } = letterSweeper({
  store,
  views,
  letters: sqsDeadLetterPeek(sqs, requiredJson<Record<string, string>>(ENV.deadLetterQueues)),
  clock: systemClock,
});

/** No ended run is begun with less than this left: a look takes milliseconds, and the letters come after. */
const ENDED_MS = 15_000;
/** No pool's letters are begun with less than this left: some fifty of them are read, judged and let go. */
const LETTERS_MS = 10_000;

export const handler = chain('sweep', async (_event: unknown, context) => {
  const report = await sweep(context.log, context.deadlineAt - ENDED_MS);
  const letters = await sweepLetters(context.log, context.deadlineAt - LETTERS_MS);
  context.log.info('sweep', { ...report, ...letters });
  // Held runs are looked at less and less often, and never forgotten: the alarm comes back until they are healed.
  count(METRIC.heldRuns, report.held, { [DEPLOYMENT]: stateTable });
});
