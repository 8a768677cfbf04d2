import {
  Duration,
  type aws_dynamodb as dynamodb,
  type aws_lambda as lambda,
  type aws_s3 as s3,
} from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { ENV } from '#core/env-names.ts';
import { onPayloads, onTable, publishesTo } from './access.ts';
import type { Alarms } from './alarms.ts';
import { functionTime, recordTime } from './record-time.ts';
import type { Stage } from './stage.ts';
import { StageFunction } from './stage-function.ts';
import type { CommandTopic } from './topics.ts';

export interface DispatchProps {
  readonly stage: Stage;
  readonly commands: CommandTopic;
  readonly state: dynamodb.Table;
  readonly payloads: s3.Bucket;
  readonly alarms: Alarms;
}

/** The function that RunTask states call: notes the step, then publishes its command. */
export class Dispatch extends Construct {
  readonly fn: lambda.Function;
  readonly commands: CommandTopic;

  constructor(scope: Construct, id: string, props: DispatchProps) {
    super(scope, id);
    this.commands = props.commands;
    // Pools come before dispatch: by now the topic is there if any of them is ordered.
    const { orderedTopic } = props.commands;
    this.fn = new StageFunction(this, 'Dispatch', {
      stage: props.stage,
      entry: 'dispatch',
      // Cold starts in a storm of steps: what is killed here costs a retry of the state.
      timeout: Duration.seconds(Math.max(30, functionTime(props.stage).toSeconds())),
      environment: recordTime(props.stage),
      uses: [
        onTable(ENV.stateTable, props.state, ['GetItem', 'UpdateItem', 'Query']),
        publishesTo(ENV.commandsTopic, props.commands.topic, props.stage),
        ...(orderedTopic ? [publishesTo(ENV.orderedTopic, orderedTopic, props.stage)] : []),
        onPayloads(props.payloads, ['GetObject', 'PutObject']),
      ],
    }).fn;
    props.alarms.onFunction('dispatch', this.fn);
    props.alarms.onHandedBack('dispatch', this.fn);
  }
}
