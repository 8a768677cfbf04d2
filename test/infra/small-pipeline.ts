import {
  type Duration,
  aws_dynamodb as dynamodb,
  Stack,
  aws_s3 as s3,
  type aws_stepfunctions as sfn,
} from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { Alarms } from '#constructs/alarms.ts';
import { Dispatch } from '#constructs/dispatch.ts';
import { CommandTopic } from '#constructs/topics.ts';
import { type PoolOptions, WorkerPool } from '#constructs/worker-pool.ts';
import { Workflow } from '#constructs/workflow.ts';
import type { TaskContract } from '#core/contract.ts';
import { stageFrom } from '#stacks/stages.ts';
import { chargePayment, reserveStock } from '#workflows/order/contract.ts';
import { testApp } from './edow-app.ts';

const key = { name: 'PK', type: dynamodb.AttributeType.STRING };

export interface SmallPipeline {
  readonly states: (scope: Construct) => sfn.IChainable;
  /** Pools by construct id. Default: one for reserve and charge. */
  readonly pools?: Readonly<Record<string, PoolOptions>>;
  readonly tasks?: readonly TaskContract[];
  readonly queryLanguage?: sfn.QueryLanguage;
  readonly timeout?: Duration;
}

/** One workflow and its pools in a stack: what the constructs need and no more. */
export function buildPipeline(parts: SmallPipeline) {
  const app = testApp();
  const stack = new Stack(app, 'Small');
  const stage = stageFrom({ stage: 'dev', version: 'test' });
  const shared = {
    stage,
    state: new dynamodb.Table(stack, 'State', {
      partitionKey: key,
      stream: dynamodb.StreamViewType.NEW_IMAGE,
    }),
    payloads: new s3.Bucket(stack, 'Payloads'),
    alarms: new Alarms(stack, 'Alarms'),
    commands: new CommandTopic(stack, 'Commands'),
  };
  const pools = Object.entries(parts.pools ?? { Pool: { tasks: [reserveStock, chargePayment] } }).map(
    ([id, pool]) =>
      new WorkerPool(stack, id, { ...shared, entry: 'worker-inventory', ...pool, name: id.toLowerCase() }),
  );
  const workflow = new Workflow(stack, 'Workflow', {
    ...shared,
    contract: {
      name: 'small',
      input: reserveStock.input,
      tasks: parts.tasks ?? [reserveStock, chargePayment],
    },
    dispatch: new Dispatch(stack, 'Dispatch', shared),
    states: parts.states,
    ...(parts.queryLanguage && { queryLanguage: parts.queryLanguage }),
  });
  return { app, stack, workflow, pools, ...shared };
}
