/** What Lambda and CloudWatch Logs know of a deployed function. */
import { CloudWatchLogsClient, FilterLogEventsCommand } from '@aws-sdk/client-cloudwatch-logs';
import { GetFunctionConfigurationCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { type DeployedWorkflow, ENV } from '#core/env-names.ts';
import type { Functions, LogEntry } from '../ports.ts';
import { OPERATOR_CLIENT } from './calls.ts';

/** Pages of one look: 10,000 entries each at most. */
const MAX_PAGES = 50;

export function lambdaFunctions(): Functions {
  const lambda = new LambdaClient(OPERATOR_CLIENT);
  const logs = new CloudWatchLogsClient(OPERATOR_CLIENT);
  const configuration = (FunctionName: string) =>
    lambda.send(new GetFunctionConfigurationCommand({ FunctionName }));

  return {
    async workflows(functionName) {
      const { Environment } = await configuration(functionName);
      const text = Environment?.Variables?.[ENV.workflows] ?? '{}';
      return new Map(Object.entries(JSON.parse(text) as Record<string, DeployedWorkflow>));
    },

    async logs(functionName, { from, limit, containing }) {
      const { LoggingConfig } = await configuration(functionName);
      const logGroupName = LoggingConfig?.LogGroup ?? `/aws/lambda/${functionName}`;
      const entries: LogEntry[] = [];
      let nextToken: string | undefined;
      for (let page = 0; page < MAX_PAGES; page++) {
        const found = await logs.send(
          new FilterLogEventsCommand({
            logGroupName,
            startTime: from,
            // Quoted: a literal text, not a pattern.
            ...(containing !== undefined && { filterPattern: `"${containing}"` }),
            ...(nextToken !== undefined && { nextToken }),
          }),
        );
        for (const { timestamp = 0, message = '' } of found.events ?? [])
          if (timestamp >= from && (containing === undefined || message.includes(containing)))
            entries.push({ time: timestamp, text: message.trimEnd() });
        nextToken = found.nextToken;
        if (nextToken === undefined) break;
      }
      return entries.sort((a, b) => a.time - b.time).slice(-limit);
    },
  };
}
