import {
  Duration,
  type aws_dynamodb as dynamodb,
  aws_events as events,
  type aws_lambda as lambda,
  Stack,
  type aws_s3 as s3,
  type aws_sqs as sqs,
  aws_events_targets as targets,
} from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { ENV } from '#core/env-names.ts';
import { type Access, allow, onPayloads, onQueue, onTable } from './access.ts';
import type { Alarms } from './alarms.ts';
import type { Stage } from './stage.ts';
import { StageFunction } from './stage-function.ts';
import type { CommandTopic } from './topics.ts';
import type { WorkerPool } from './worker-pool.ts';
import type { Workflow } from './workflow.ts';
import { describesExecutions, grantAnswers, startsWorkflows } from './workflow-access.ts';

export interface SweepProps {
  readonly stage: Stage;
  readonly state: dynamodb.Table;
  /** Index of open runs. */
  readonly openIndex: string;
  readonly views: dynamodb.Table;
  readonly payloads: s3.Bucket;
  readonly commands: CommandTopic;
  /** Queue of the projector, and relay's retry queue: for events that the stream lost. */
  readonly projectInbox: sqs.IQueue;
  readonly relayRetry: sqs.IQueue;
  readonly workflows: readonly Workflow[];
  readonly alarms: Alarms;
}

/** Looks at the depth of work queues, and sends them the commands that nobody has met; by command type. */
const onWorkQueues =
  (pools: readonly WorkerPool[]): Access =>
  (fn) => {
    allow(
      fn,
      'sqs',
      ['GetQueueAttributes', 'SendMessage'],
      pools.map(({ work }) => work.queue.queueArn),
    );
    const urls = pools.flatMap(({ types, work }) =>
      types.map((type) => [type, work.queue.queueUrl] as const),
    );
    fn.addEnvironment(ENV.workQueues, Stack.of(fn).toJsonString(Object.fromEntries(urls)));
  };

/** Peeks at the dead letters of pools: looks, and lets them be seen again. */
const onDeadLetters =
  (pools: readonly WorkerPool[], stage: Stage): Access =>
  (fn) => {
    allow(
      fn,
      'sqs',
      ['ReceiveMessage', ...stage.releaseActions],
      pools.map(({ work }) => work.deadLetters.queueArn),
    );
    const urls = pools.map(({ poolName, work }) => [poolName, work.deadLetters.queueUrl] as const);
    fn.addEnvironment(ENV.deadLetterQueues, Stack.of(fn).toJsonString(Object.fromEntries(urls)));
  };

/** Every minute: heals whatever a lost event, a killed function or a refused answer left behind. */
export class Sweep extends Construct {
  readonly fn: lambda.Function;

  constructor(scope: Construct, id: string, props: SweepProps) {
    super(scope, id);
    const { stage, workflows } = props;
    this.fn = new StageFunction(this, 'Sweep', {
      stage,
      entry: 'sweep',
      // Ends before the next minute's call.
      timeout: Duration.seconds(50),
      uses: [
        onTable(ENV.stateTable, props.state, ['GetItem', 'UpdateItem', 'Query'], [props.openIndex]),
        onTable(ENV.viewsTable, props.views, ['PutItem', 'Query']),
        onQueue(ENV.projectQueue, props.projectInbox, ['GetQueueAttributes']),
        onQueue(ENV.retryQueue, props.relayRetry, ['SendMessage']),
        onPayloads(props.payloads, ['GetObject', 'PutObject']),
        startsWorkflows(workflows),
        describesExecutions(workflows),
        onWorkQueues(props.commands.pools),
        onDeadLetters(props.commands.pools, stage),
      ],
    }).fn;
    grantAnswers(this.fn, workflows, stage);
    // No second try: the next minute is one.
    this.fn.configureAsyncInvoke({ retryAttempts: 0 });
    new events.Rule(this, 'EveryMinute', {
      schedule: events.Schedule.rate(Duration.minutes(1)),
      targets: [new targets.LambdaFunction(this.fn, { retryAttempts: 0, maxEventAge: Duration.minutes(1) })],
    });
    props.alarms.onFunction('sweep', this.fn);
    props.alarms.onHeldRuns(props.state.tableName);
  }
}
