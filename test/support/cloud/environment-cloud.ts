/** The cloud that the environment points to: endpoint and credentials as every AWS tool reads them. */
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { type StageName, stackNames } from '#stacks/stack-names.ts';
import type { Target } from './target.ts';

/** @throws Error when the pipeline stack of that stage is not there */
export async function environmentCloud(
  stage = (process.env['EDOW_TEST_STAGE'] ?? 'dev') as StageName,
): Promise<Target> {
  const endpoint = process.env['AWS_ENDPOINT_URL'];
  const StackName = stackNames(stage).pipeline;
  const { Stacks = [] } = await new CloudFormationClient({}).send(new DescribeStacksCommand({ StackName }));
  const outputs = (Stacks[0]?.Outputs ?? []).flatMap(({ OutputKey, OutputValue }) =>
    OutputKey && OutputValue ? [[OutputKey, OutputValue] as const] : [],
  );
  return {
    name: `${StackName} at ${endpoint ?? 'AWS'}`,
    variables: {},
    mapsTenants: false,
    outputs: Object.fromEntries(outputs),
  };
}
