/** What tools and tests read of a deployed pipeline: outputs of its stack, under these names. */
import {
  type aws_apigatewayv2 as api,
  CfnOutput,
  type aws_dynamodb as dynamodb,
  type aws_lambda as lambda,
  type Stack,
  type aws_s3 as s3,
  type aws_sns as sns,
  type aws_sqs as sqs,
} from 'aws-cdk-lib';
import type { Workflow } from '#constructs/workflow.ts';

/** Value of one member of output `Queues`. */
export interface QueueOutput {
  readonly queueUrl: string;
  readonly dlqUrl: string;
  readonly queueArn: string;
  /** Command types, for work queues. */
  readonly types: readonly string[];
}

interface Parts {
  readonly api: api.HttpApi;
  readonly state: dynamodb.Table;
  readonly views: dynamodb.Table;
  readonly accounts: dynamodb.Table;
  readonly stub?: dynamodb.Table;
  readonly payloads: s3.Bucket;
  readonly commands: sns.ITopic;
  readonly events: sns.ITopic;
  readonly alarms: sns.ITopic;
  readonly workflows: readonly Workflow[];
  readonly queues: Readonly<
    Record<
      string,
      { readonly queue: sqs.IQueue; readonly deadLetters: sqs.IQueue; readonly types?: readonly string[] }
    >
  >;
  /** Dead letters of what is no queue. */
  readonly deadLetters: Readonly<Record<string, sqs.IQueue>>;
  readonly functions: Readonly<Record<string, lambda.IFunction>>;
}

export function writeOutputs(stack: Stack, parts: Parts): void {
  const json = (value: object): string => stack.toJsonString(value);
  const map = <V, T>(record: Readonly<Record<string, V>>, of: (value: V) => T): Record<string, T> =>
    Object.fromEntries(Object.entries(record).map(([name, value]) => [name, of(value)]));
  const outputs: Record<string, string> = {
    ApiUrl: parts.api.apiEndpoint,
    ApiId: parts.api.apiId,
    StateTableName: parts.state.tableName,
    ViewsTableName: parts.views.tableName,
    AccountsTableName: parts.accounts.tableName,
    PayloadBucketName: parts.payloads.bucketName,
    CommandsTopicArn: parts.commands.topicArn,
    EventsTopicArn: parts.events.topicArn,
    AlarmTopicArn: parts.alarms.topicArn,
    StateMachineArns: json(
      Object.fromEntries(
        parts.workflows.map(({ workflowName, machine }) => [workflowName, machine.stateMachineArn]),
      ),
    ),
    Queues: json(
      map(
        parts.queues,
        ({ queue, deadLetters, types }): QueueOutput => ({
          queueUrl: queue.queueUrl,
          dlqUrl: deadLetters.queueUrl,
          queueArn: queue.queueArn,
          types: types ?? [],
        }),
      ),
    ),
    DeadLetters: json(map(parts.deadLetters, ({ queueUrl }) => queueUrl)),
    Functions: json(map(parts.functions, (fn) => fn.functionName)),
    ...(parts.stub && { StubTableName: parts.stub.tableName }),
  };
  for (const [name, value] of Object.entries(outputs)) new CfnOutput(stack, name, { value });
}
