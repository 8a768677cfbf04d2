import { Duration, aws_ec2 as ec2, aws_lambda as lambda, aws_secretsmanager as secrets } from 'aws-cdk-lib';
import { describe, expect, it } from 'vitest';
import { RunTask } from '#constructs/run-task.ts';
import { WorkerPool } from '#constructs/worker-pool.ts';
import { fromInput } from '#core/mapping.ts';
import { stageFrom } from '#stacks/stages.ts';
import { chargePayment, reserveStock } from '#workflows/order/contract.ts';
import { resources } from './edow-app.ts';
import { buildPipeline } from './small-pipeline.ts';

const built = buildPipeline({
  states: (scope) => new RunTask(scope, 'Reserve', { task: reserveStock, input: fromInput() }),
  pools: { Plain: { tasks: [reserveStock] } },
});
const { stack } = built;
const secret = new secrets.Secret(stack, 'ApiKey');
const tuned = new WorkerPool(stack, 'Tuned', {
  ...built,
  stage: stageFrom({ stage: 'dev', version: 'abc' }),
  name: 'tuned',
  tasks: [{ ...chargePayment, retry: { tries: 9, baseSeconds: 1, maxSeconds: 10 } }],
  entry: 'worker-payment',
  timeout: Duration.seconds(30),
  memorySize: 1024,
  architecture: lambda.Architecture.X86_64,
  maxConcurrency: 50,
  batchSize: 5,
  batchConcurrency: 2,
  retention: Duration.days(1),
  environment: { REGION_OF_SHOP: 'eu' },
  secrets: { API_KEY_ARN: secret },
  vpc: new ec2.Vpc(stack, 'Vpc'),
  uses: [(fn) => fn.addEnvironment('FROM_USES', 'yes')],
});

const part = (type: string, id: string) => {
  const found = Object.entries(resources(stack, type)).find(([name]) => name.startsWith(id));
  if (!found) throw new Error(`no ${type} that starts with ${id}`);
  return found[1].Properties;
};

describe('WorkerPool', () => {
  it('has defaults that need no thought', () => {
    expect(part('AWS::Lambda::Function', 'PlainWorker')).toMatchObject({
      MemorySize: 512,
      Timeout: 10,
      Architectures: ['arm64'],
      Environment: { Variables: { EDOW_BATCH_CONCURRENCY: '10', EDOW_VERSION: 'test' } },
    });
    expect(part('AWS::SQS::Queue', 'PlainWorkQueue')).toMatchObject({
      VisibilityTimeout: 60,
      MessageRetentionPeriod: 345_600,
      RedrivePolicy: { maxReceiveCount: 20 },
    });
    expect(part('AWS::Lambda::EventSourceMapping', 'PlainFeed')).toMatchObject({
      BatchSize: 10,
      ScalingConfig: { MaximumConcurrency: 10 },
    });
  });

  it('takes each option to where it belongs', () => {
    expect(tuned.work.visibilityTimeout.toSeconds()).toBe(180);
    expect(part('AWS::SQS::Queue', 'TunedWorkQueue')).toMatchObject({
      VisibilityTimeout: 180,
      MessageRetentionPeriod: 86_400,
      RedrivePolicy: { maxReceiveCount: 9 + 15 },
    });
    expect(part('AWS::Lambda::EventSourceMapping', 'TunedFeed')).toMatchObject({
      BatchSize: 5,
      ScalingConfig: { MaximumConcurrency: 50 },
    });
    expect(part('AWS::Lambda::Function', 'TunedWorker')).toMatchObject({
      MemorySize: 1024,
      Timeout: 30,
      Architectures: ['x86_64'],
      VpcConfig: { SubnetIds: expect.any(Array) },
      Environment: {
        Variables: {
          EDOW_BATCH_CONCURRENCY: '2',
          EDOW_VERSION: 'abc',
          REGION_OF_SHOP: 'eu',
          FROM_USES: 'yes',
          API_KEY_ARN: { Ref: stack.getLogicalId(secret.node.defaultChild as never) },
        },
      },
    });
  });

  it('may read its secrets, and join its network', () => {
    const policy = part('AWS::IAM::Policy', 'TunedWorkerRole').PolicyDocument;
    expect(policy.Statement).toContainEqual({
      Effect: 'Allow',
      Action: 'secretsmanager:GetSecretValue',
      Resource: { Ref: expect.stringMatching(/^ApiKey/) },
    });
    expect(JSON.stringify(part('AWS::IAM::Role', 'TunedWorkerRole').ManagedPolicyArns)).toContain(
      'AWSLambdaENIManagementAccess',
    );
    expect(part('AWS::IAM::Role', 'PlainWorkerRole').ManagedPolicyArns).toBeUndefined();
  });
});
