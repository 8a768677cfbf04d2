import {
  Duration,
  type aws_dynamodb as dynamodb,
  type aws_lambda as lambda,
  type aws_s3 as s3,
  aws_sqs as sqs,
  aws_events_targets as targets,
  Validations,
} from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { ENV } from '#core/env-names.ts';
import { allow, onPayloads, onTable } from './access.ts';
import type { Alarms } from './alarms.ts';
import { functionTime, recordTime } from './record-time.ts';
import type { Stage } from './stage.ts';
import { StageFunction } from './stage-function.ts';
import type { Workflow } from './workflow.ts';
import { describesExecutions } from './workflow-access.ts';

export interface CloseProps {
  readonly stage: Stage;
  readonly state: dynamodb.Table;
  readonly payloads: s3.Bucket;
  readonly workflows: readonly Workflow[];
  readonly alarms: Alarms;
}

/** Tries of one event, in EventBridge and in Lambda's own queue; what is lost all the same, the sweeper finds. */
const TRIES = 2;
const LONGEST = Duration.hours(6);

/** Writes the truth of a run when its execution ends. */
export class Close extends Construct {
  readonly fn: lambda.Function;
  readonly deadLetters: sqs.Queue;

  constructor(scope: Construct, id: string, props: CloseProps) {
    super(scope, id);
    const { stage, workflows } = props;
    this.deadLetters = new sqs.Queue(this, 'DeadLetters', {
      retentionPeriod: Duration.days(14),
      encryption: sqs.QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      removalPolicy: stage.removalPolicy,
    });
    Validations.of(this.deadLetters).acknowledge({
      id: 'AwsSolutions-SQS3',
      reason:
        'It is the dead-letter queue of the end-state rules and of the function itself, which are no queues: test/infra asserts that both name it.',
    });
    this.fn = new StageFunction(this, 'Close', {
      stage,
      entry: 'close',
      timeout: functionTime(stage),
      environment: recordTime(stage),
      uses: [
        onTable(ENV.stateTable, props.state, ['UpdateItem', 'Query']),
        onPayloads(props.payloads, ['PutObject']),
        describesExecutions(workflows),
      ],
    }).fn;
    this.fn.configureAsyncInvoke({
      retryAttempts: TRIES,
      maxEventAge: LONGEST,
      onFailure: {
        bind: (_scope, fn) => {
          allow(fn as lambda.Function, 'sqs', ['SendMessage'], [this.deadLetters.queueArn]);
          return { destination: this.deadLetters.queueArn };
        },
      },
    });
    for (const { ended } of workflows)
      ended.addTarget(
        new targets.LambdaFunction(this.fn, {
          deadLetterQueue: this.deadLetters,
          retryAttempts: TRIES,
          maxEventAge: LONGEST,
        }),
      );
    props.alarms.onDeadLetters('close', this.deadLetters);
    props.alarms.onFunction('close', this.fn);
    props.alarms.onHandedBack('close', this.fn);
  }
}
