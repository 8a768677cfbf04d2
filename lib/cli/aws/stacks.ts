/** The stack's outputs, read from CloudFormation: the same on every cloud. */
import { CloudFormationClient, DescribeStacksCommand, type Stack } from '@aws-sdk/client-cloudformation';
import type { QueueOutput } from '#stacks/outputs.ts';
import { CliError } from '../errors.ts';
import type { Pipeline, Stacks } from '../ports.ts';
import { OPERATOR_CLIENT } from './calls.ts';

/** @param names of the stage's stacks, `pipeline` among them */
export function cloudFormationStacks(
  names: { readonly pipeline: string } & Readonly<Record<string, string>>,
  where: string,
  deployWith: string,
): Stacks {
  const client = new CloudFormationClient(OPERATOR_CLIENT);

  async function described(name: string): Promise<Stack | undefined> {
    try {
      const { Stacks: found } = await client.send(new DescribeStacksCommand({ StackName: name }));
      return found?.[0];
    } catch (error) {
      const isUnknown =
        error instanceof Error &&
        error.name === 'ValidationError' &&
        error.message.includes('does not exist');
      if (isUnknown) return undefined;
      throw error;
    }
  }

  return {
    async pipeline() {
      const stack = await described(names.pipeline);
      const outputs = new Map(stack?.Outputs?.map(({ OutputKey, OutputValue }) => [OutputKey, OutputValue]));
      if (outputs.size === 0)
        throw new CliError(
          'not_deployed',
          stack === undefined
            ? `the stack ${names.pipeline} is not deployed on ${where}`
            : `the stack ${names.pipeline} is ${stack.StackStatus ?? 'unfinished'} and tells nothing yet`,
          `Deploy it: ${deployWith}`,
        );
      return pipelineOf(names.pipeline, deployWith, (output) => outputs.get(output));
    },
    states: () =>
      Promise.all(
        Object.values(names).map(async (name) => {
          const status = (await described(name))?.StackStatus;
          return { name, ...(status !== undefined && { status }) };
        }),
      ),
  };
}

function pipelineOf(
  stack: string,
  deployWith: string,
  output: (name: string) => string | undefined,
): Pipeline {
  const text = (name: string): string => {
    const value = output(name);
    if (value !== undefined) return value;
    throw new CliError(
      'output_missing',
      `the stack ${stack} has no output ${name}: it was deployed by another version`,
      `Deploy this one: ${deployWith}`,
    );
  };
  const stub = output('StubTableName');
  const queues: Record<string, QueueOutput> = JSON.parse(text('Queues'));
  return {
    api: { url: text('ApiUrl'), id: text('ApiId') },
    stateTable: text('StateTableName'),
    viewsTable: text('ViewsTableName'),
    payloadBucket: text('PayloadBucketName'),
    ...(stub !== undefined && { stubTable: stub }),
    eventsTopic: text('EventsTopicArn'),
    machines: JSON.parse(text('StateMachineArns')),
    sources: Object.entries(queues).map(([name, queue]) => ({ name, ...queue })),
    others: Object.entries<string>(JSON.parse(text('DeadLetters'))).map(([name, dlqUrl]) => ({
      name,
      dlqUrl,
    })),
    functions: JSON.parse(text('Functions')),
  };
}
