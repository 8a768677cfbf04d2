/** What functions have logged, as CloudWatch Logs has it. */
import { FilterLogEventsCommand } from '@aws-sdk/client-cloudwatch-logs';
import { GetFunctionConfigurationCommand } from '@aws-sdk/client-lambda';
import type { Deployed } from './deployed.ts';

/** @param stage name of the function, as in output `Functions`; @param since epoch milliseconds */
export async function logLines(
  { lambda, logs, functions }: Deployed,
  stage: string,
  since: number,
): Promise<string[]> {
  const FunctionName = functions[stage];
  const { LoggingConfig } = await lambda.send(new GetFunctionConfigurationCommand({ FunctionName }));
  const logGroupName = LoggingConfig?.LogGroup ?? `/aws/lambda/${FunctionName}`;
  const lines: string[] = [];
  let nextToken: string | undefined;
  do {
    const page = await logs.send(
      new FilterLogEventsCommand({ logGroupName, startTime: since, ...(nextToken && { nextToken }) }),
    );
    lines.push(...(page.events ?? []).map(({ message = '' }) => message));
    nextToken = page.nextToken;
  } while (nextToken);
  return lines;
}

/** What services call it; SNS has a name of its own. */
const DENIED = /AccessDenied|AuthorizationError/;

/** Lines of calls that the function was denied: with the name of the error behind, and the time at which it said so. */
export async function denials(system: Deployed, stage: string, since: number): Promise<string[]> {
  const lines = await logLines(system, stage, since);
  return lines.filter((line) => {
    const [, said = ''] = /"time":"([^"]+)"/.exec(line) ?? [];
    return DENIED.test(line) && Date.parse(said) >= since;
  });
}
