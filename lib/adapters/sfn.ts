/** Task tokens and executions of Step Functions. */
import {
  DescribeExecutionCommand,
  SendTaskFailureCommand,
  SendTaskSuccessCommand,
  SFNClient,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn';
import type { Answers, ExecutionState, ExecutionStatus, Executions } from '#core/ports.ts';
import { type CallOptions, call } from './call.ts';
import { CLIENT } from './client-config.ts';

export const sfnClient = (): SFNClient => new SFNClient(CLIENT);

/** A token that no longer waits: timed out, answered before, or of an execution that ended. */
const REFUSED = new Set(['TaskDoesNotExist', 'TaskTimedOut', 'InvalidToken']);
const refused = (name: string): 'refused' | undefined => (REFUSED.has(name) ? 'refused' : undefined);

export const sfnAnswers = (client: SFNClient): Answers => {
  const answer = (what: string, send: (options: CallOptions) => Promise<unknown>) =>
    call<'accepted' | 'refused'>(what, (options) => send(options).then(() => 'accepted'), refused);
  return {
    succeed: (taskToken, output) =>
      answer('SendTaskSuccess', (options) =>
        client.send(new SendTaskSuccessCommand({ taskToken, output }), options),
      ),
    fail: (taskToken, error, cause) =>
      answer('SendTaskFailure', (options) =>
        client.send(new SendTaskFailureCommand({ taskToken, error, cause }), options),
      ),
  };
};

const THROTTLED = new Set(['ExecutionLimitExceeded', 'ThrottlingException', 'TooManyRequestsException']);

function notStarted(name: string): 'exists' | 'throttled' | undefined {
  if (name === 'ExecutionAlreadyExists') return 'exists';
  return THROTTLED.has(name) ? 'throttled' : undefined;
}

/** ARN of an execution by its name: `..:stateMachine:order` -> `..:execution:order:<name>`. */
export const executionArn = (stateMachineArn: string, name: string): string =>
  `${stateMachineArn.replace(':stateMachine:', ':execution:')}:${name}`;

interface Described {
  readonly status?: string | undefined;
  readonly output?: string | undefined;
  readonly error?: string | undefined;
  readonly cause?: string | undefined;
}

/** Only what belongs to the status: a failed execution has no output. An execution that waits for a redrive runs on. */
function stateOf({ status, output, error, cause }: Described): ExecutionState {
  if (status === 'PENDING_REDRIVE') return { status: 'RUNNING' };
  return {
    status: status as ExecutionStatus,
    ...(status === 'SUCCEEDED' && output !== undefined && { output }),
    ...(error !== undefined && { error }),
    ...(cause !== undefined && { cause }),
  };
}

export const sfnExecutions = (client: SFNClient): Executions => ({
  start: (stateMachineArn, name, input) => {
    const command = new StartExecutionCommand({ stateMachineArn, name, input });
    const start = (options: CallOptions) => client.send(command, options).then(() => 'started' as const);
    return call<'started' | 'exists' | 'throttled'>('StartExecution', start, notStarted);
  },
  describe: async (stateMachineArn, name) => {
    const command = new DescribeExecutionCommand({ executionArn: executionArn(stateMachineArn, name) });
    const found = await call<Described | 'none'>(
      'DescribeExecution',
      (options) => client.send(command, options),
      (error) => (error === 'ExecutionDoesNotExist' ? 'none' : undefined),
    );
    return found === 'none' ? undefined : stateOf(found);
  },
});
