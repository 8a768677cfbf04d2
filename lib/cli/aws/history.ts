import { GetExecutionHistoryCommand, SFNClient } from '@aws-sdk/client-sfn';
import { executionArn } from '#adapters/sfn.ts';
import { OPERATOR_CLIENT } from './calls.ts';

/** States that an execution has entered: what Step Functions charges for. */
export async function statesEntered(stateMachineArn: string, executionName: string): Promise<number> {
  const client = new SFNClient(OPERATOR_CLIENT);
  let entered = 0;
  let nextToken: string | undefined;
  do {
    const page = await client.send(
      new GetExecutionHistoryCommand({
        executionArn: executionArn(stateMachineArn, executionName),
        maxResults: 1000,
        ...(nextToken !== undefined && { nextToken }),
      }),
    );
    entered += (page.events ?? []).filter(({ type }) => type?.endsWith('StateEntered')).length;
    nextToken = page.nextToken;
  } while (nextToken !== undefined);
  return entered;
}
