import {
  DescribeExecutionCommand,
  SendTaskFailureCommand,
  SendTaskSuccessCommand,
  SFNClient,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, describe, expect, test } from 'vitest';
import { executionArn, sfnAnswers, sfnExecutions } from '#adapters/sfn.ts';
import { PortUnavailable } from '#core/errors.ts';

const mock = mockClient(SFNClient);
afterEach(() => mock.reset());
const answers = sfnAnswers(new SFNClient({}));
const executions = sfnExecutions(new SFNClient({}));
const MACHINE = 'arn:aws:states:eu-west-1:111122223333:stateMachine:order';

const refusal = (name: string): Error =>
  Object.assign(new Error('x'), { name, $fault: 'client', $metadata: { httpStatusCode: 400 } });

describe('answers', () => {
  test('carry token and output, or error and cause', async () => {
    mock.onAnyCommand().resolves({});
    expect(await answers.succeed('t', '{"a":1}')).toBe('accepted');
    expect(await answers.fail('t', 'Declined', 'why')).toBe('accepted');
    expect(mock.calls().map(({ args }) => args[0].input)).toEqual([
      { taskToken: 't', output: '{"a":1}' },
      { taskToken: 't', error: 'Declined', cause: 'why' },
    ]);
  });

  test.each(['TaskDoesNotExist', 'TaskTimedOut', 'InvalidToken'])('%s: refused', async (name) => {
    mock.onAnyCommand().rejects(refusal(name));
    expect(await answers.succeed('t', '{}')).toBe('refused');
    expect(await answers.fail('t', 'E', 'c')).toBe('refused');
  });

  test('throttled: try again', async () => {
    mock.on(SendTaskSuccessCommand).rejects(refusal('ThrottlingException'));
    await expect(answers.succeed('t', '{}')).rejects.toThrow(PortUnavailable);
  });

  test('an output that Step Functions cannot read is a mistake of ours', async () => {
    mock.on(SendTaskSuccessCommand).rejects(refusal('InvalidOutput'));
    mock.on(SendTaskFailureCommand).rejects(refusal('ValidationException'));
    await expect(answers.succeed('t', '{')).rejects.toThrow('SendTaskSuccess was refused: InvalidOutput');
    await expect(answers.fail('t', 'E', 'c')).rejects.toThrow(
      'SendTaskFailure was refused: ValidationException',
    );
  });
});

describe('executions', () => {
  test('start by name', async () => {
    mock.on(StartExecutionCommand).resolves({});
    expect(await executions.start(MACHINE, '01RUN-2', '{"runId":"01RUN","execution":2}')).toBe('started');
    expect(mock.call(0).args[0].input).toEqual({
      stateMachineArn: MACHINE,
      name: '01RUN-2',
      input: '{"runId":"01RUN","execution":2}',
    });
  });

  test.each([
    ['ExecutionAlreadyExists', 'exists'],
    ['ExecutionLimitExceeded', 'throttled'],
    ['ThrottlingException', 'throttled'],
  ])('%s: %s', async (name, result) => {
    mock.on(StartExecutionCommand).rejects(refusal(name));
    expect(await executions.start(MACHINE, 'n', '{}')).toBe(result);
  });

  test('a start that was not answered may have happened', async () => {
    mock.on(StartExecutionCommand).rejects(Object.assign(new Error('x'), { name: 'TimeoutError' }));
    await expect(executions.start(MACHINE, 'n', '{}')).rejects.toThrow(PortUnavailable);
  });

  test('no such state machine is a fault of the deployment', async () => {
    mock.on(StartExecutionCommand).rejects(refusal('StateMachineDoesNotExist'));
    await expect(executions.start(MACHINE, 'n', '{}')).rejects.toThrow(
      expect.objectContaining({ code: 'port_refused' }),
    );
  });

  test('the ARN of an execution follows from its machine and name', () => {
    expect(executionArn(MACHINE, '01RUN-2')).toBe(
      'arn:aws:states:eu-west-1:111122223333:execution:order:01RUN-2',
    );
  });

  test.each([
    [{ status: 'RUNNING', output: undefined }, { status: 'RUNNING' }],
    [
      { status: 'SUCCEEDED', output: '{"a":1}' },
      { status: 'SUCCEEDED', output: '{"a":1}' },
    ],
    [
      { status: 'FAILED', error: 'E', cause: 'c', output: '{"Error":"E"}' },
      { status: 'FAILED', error: 'E', cause: 'c' },
    ],
    [{ status: 'TIMED_OUT' }, { status: 'TIMED_OUT' }],
    [
      { status: 'ABORTED', error: 'Operator' },
      { status: 'ABORTED', error: 'Operator' },
    ],
    [{ status: 'PENDING_REDRIVE' }, { status: 'RUNNING' }],
  ] as const)('described as %j', async (answer, state) => {
    mock
      .on(DescribeExecutionCommand, { executionArn: executionArn(MACHINE, 'n') })
      .resolves({ executionArn: undefined, stateMachineArn: MACHINE, startDate: undefined, ...answer });
    expect(await executions.describe(MACHINE, 'n')).toStrictEqual(state);
  });

  test('there is none, or one cannot tell', async () => {
    mock.on(DescribeExecutionCommand).rejects(refusal('ExecutionDoesNotExist'));
    expect(await executions.describe(MACHINE, 'n')).toBeUndefined();
    mock.on(DescribeExecutionCommand).rejects(refusal('ThrottlingException'));
    await expect(executions.describe(MACHINE, 'n')).rejects.toThrow(PortUnavailable);
  });
});
