/** The deployed system as a test file sees it: its names and one client a service. */
import { CloudWatchLogsClient } from '@aws-sdk/client-cloudwatch-logs';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { IAMClient } from '@aws-sdk/client-iam';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { SFNClient } from '@aws-sdk/client-sfn';
import { SNSClient } from '@aws-sdk/client-sns';
import { SQSClient } from '@aws-sdk/client-sqs';
import { type Deployment, deploymentOf, type Target } from './target.ts';

export interface Deployed extends Deployment {
  readonly target: Target;
  readonly dynamo: DynamoDBClient;
  readonly sfn: SFNClient;
  readonly sns: SNSClient;
  readonly sqs: SQSClient;
  readonly lambda: LambdaClient;
  readonly iam: IAMClient;
  readonly logs: CloudWatchLogsClient;
}

/** The process must have entered the cloud already: clients read the environment. */
export function deployed(target: Target): Deployed {
  return {
    ...deploymentOf(target.outputs),
    target,
    dynamo: new DynamoDBClient({}),
    sfn: new SFNClient({}),
    sns: new SNSClient({}),
    // Queue URLs are names only: an emulator shows a host of its own in them.
    sqs: new SQSClient({ useQueueUrlAsEndpoint: false }),
    lambda: new LambdaClient({}),
    iam: new IAMClient({}),
    logs: new CloudWatchLogsClient({}),
  };
}
