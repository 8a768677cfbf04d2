/** What feeds a function, switched off and on: what lies in the queue or the stream meanwhile comes when it is on again. */
import {
  GetEventSourceMappingCommand,
  ListEventSourceMappingsCommand,
  UpdateEventSourceMappingCommand,
} from '@aws-sdk/client-lambda';
import type { Deployed } from './deployed.ts';
import { until } from './until.ts';

/**
 * @param stage name of the function, as in output `Functions`
 * @param source part of the ARN that tells its mapping from others: `:sqs:` or `/stream/`
 * @returns the switch; it returns once the mapping is as asked
 */
export async function feedOf(
  { lambda, functions }: Deployed,
  stage: string,
  source: ':sqs:' | '/stream/',
): Promise<(on: boolean) => Promise<void>> {
  const { EventSourceMappings = [] } = await lambda.send(
    new ListEventSourceMappingsCommand({ FunctionName: functions[stage] }),
  );
  const UUID = EventSourceMappings.find(({ EventSourceArn }) => EventSourceArn?.includes(source))?.UUID;
  if (UUID === undefined) throw new Error(`${stage} has no mapping of ${source}`);
  return async (on) => {
    await lambda.send(new UpdateEventSourceMappingCommand({ UUID, Enabled: on }));
    await until(`the feed of ${stage} is ${on ? 'on' : 'off'}`, async () => {
      const { State } = await lambda.send(new GetEventSourceMappingCommand({ UUID }));
      return State === (on ? 'Enabled' : 'Disabled') ? true : undefined;
    });
  };
}
