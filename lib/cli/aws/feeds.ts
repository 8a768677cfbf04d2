/** What feeds a function from a queue: Lambda's event source mapping. */
import {
  type EventSourceMappingConfiguration,
  LambdaClient,
  ListEventSourceMappingsCommand,
  UpdateEventSourceMappingCommand,
} from '@aws-sdk/client-lambda';
import { CliError } from '../errors.ts';
import type { Feeds } from '../ports.ts';
import { OPERATOR_CLIENT } from './calls.ts';

export function lambdaFeeds(): Feeds {
  const client = new LambdaClient(OPERATOR_CLIENT);

  async function mapping(functionName: string, queueArn: string): Promise<EventSourceMappingConfiguration> {
    const { EventSourceMappings = [] } = await client.send(
      new ListEventSourceMappingsCommand({ FunctionName: functionName, EventSourceArn: queueArn }),
    );
    const found = EventSourceMappings.find(({ EventSourceArn }) => EventSourceArn === queueArn);
    if (found?.UUID !== undefined) return found;
    throw new CliError(
      'feed_missing',
      `function ${functionName} is not fed from ${queueArn}: the mapping was removed outside the CDK`,
      'Deploy again: that restores it.',
    );
  }

  return {
    async state(functionName, queueArn) {
      return (await mapping(functionName, queueArn)).State ?? 'unknown';
    },
    async turn(functionName, queueArn, on) {
      const { UUID } = await mapping(functionName, queueArn);
      await client.send(new UpdateEventSourceMappingCommand({ UUID, Enabled: on }));
    },
  };
}
