import { Duration, Stack, aws_stepfunctions as sfn } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { describe, expect, it } from 'vitest';
import { RunTask } from '#constructs/run-task.ts';
import { definitionOf } from '#constructs/workflow.ts';
import { DISPATCH_FAILED } from '#core/dispatch-request.ts';
import { fromInput } from '#core/mapping.ts';
import { chargePayment, reserveStock } from '#workflows/order/contract.ts';
import { buildStage, resources } from './edow-app.ts';
import { buildPipeline } from './small-pipeline.ts';

const { pipeline } = buildStage('prod');
const [machine] = pipeline.node
  .findAll()
  .filter((construct): construct is sfn.StateMachine => construct instanceof sfn.StateMachine);
const definition = JSON.parse(machine ? definitionOf(machine) : '{}');

describe('RunTask', () => {
  it('renders the request that dispatch reads, the literal time-out and the merged output', () => {
    expect(definition.States.ShipOrder).toEqual({
      Type: 'Task',
      QueryLanguage: 'JSONata',
      Comment: 'shipping.parcel.ship',
      Resource: 'arn:*:states:::lambda:invoke.waitForTaskToken',
      TimeoutSeconds: 630,
      Arguments: {
        FunctionName: '*',
        Payload: {
          token: '{% $states.context.Task.Token %}',
          runId: '{% $states.context.Execution.Input.runId %}',
          workflow: 'order',
          execution: '{% $states.context.Execution.Input.execution %}',
          redrive:
            '{% $exists($states.context.Execution.RedriveCount) ? $states.context.Execution.RedriveCount : 0 %}',
          entry: '{% $states.context.State.RetryCount %}',
          entered: '{% $states.context.State.EnteredTime %}',
          step: 'ShipOrder',
          task: { type: 'shipping.parcel.ship', version: 1, tries: 5 },
          timeoutSeconds: 600,
          input: {
            orderId: { $from: 'input', path: ['orderId'] },
            lines: { $from: 'input', path: ['lines'] },
            reservationId: { $from: 'ReserveStock', path: ['reservationId'] },
            paymentId: { $from: 'ChargePayment', path: ['paymentId'] },
          },
        },
      },
      Output: "{% $merge([$states.input, {'ShipOrder': $states.result}]) %}",
      Retry: [
        {
          ErrorEquals: [
            DISPATCH_FAILED,
            'Lambda.ServiceException',
            'Lambda.AWSLambdaException',
            'Lambda.SdkClientException',
            'Lambda.ClientExecutionTimeoutException',
            'Lambda.TooManyRequestsException',
            'Lambda.Unknown',
          ],
          IntervalSeconds: 1,
          MaxAttempts: 5,
          BackoffRate: 2,
          MaxDelaySeconds: 15,
          JitterStrategy: 'FULL',
        },
      ],
      Next: 'NotifyCustomer',
    });
  });

  it('H14 no state retries a task: each retrier names errors of the call to dispatch only', () => {
    const retried = Object.values<{ Retry?: { ErrorEquals: string[] }[] }>(definition.States).flatMap(
      ({ Retry }) => Retry?.flatMap(({ ErrorEquals }) => ErrorEquals) ?? [],
    );
    expect(retried).toHaveLength(4 * 7);
    expect(retried.filter((error) => !error.startsWith('Lambda.'))).toEqual(Array(4).fill(DISPATCH_FAILED));
  });

  it('takes a time-out, a step key and a state name of its own', () => {
    const { workflow } = buildPipeline({
      states: (scope) =>
        new RunTask(scope, 'A', {
          task: reserveStock,
          input: { orderId: 'o-1' },
          timeout: Duration.minutes(15),
          stepKey: 'reserve-1',
          stateName: 'Reserve the stock',
        }),
    });
    const state = JSON.parse(definitionOf(workflow.machine)).States['Reserve the stock'];
    expect(state).toMatchObject({
      TimeoutSeconds: 930,
      Output: "{% $merge([$states.input, {'reserve-1': $states.result}]) %}",
      Arguments: { Payload: { step: 'reserve-1', timeoutSeconds: 900, input: { orderId: 'o-1' } } },
    });
  });

  it('stands in Parallel, after a catch, and in JSONata machines', () => {
    const { workflow, app } = buildPipeline({
      states: (scope: Construct) => {
        const reserve = new RunTask(scope, 'Reserve', { task: reserveStock, input: fromInput() });
        reserve.addCatch(new sfn.Pass(scope, 'Caught'), { errors: ['States.Timeout'] });
        return new sfn.Parallel(scope, 'Both')
          .branch(reserve)
          .branch(new RunTask(scope, 'Charge', { task: chargePayment, input: fromInput('card') }));
      },
      queryLanguage: sfn.QueryLanguage.JSONATA,
    });
    app.synth();
    const { Both } = JSON.parse(definitionOf(workflow.machine)).States;
    expect(Both.Branches.map(({ StartAt }: { StartAt: string }) => StartAt)).toEqual(['Reserve', 'Charge']);
    expect(Both.Branches[0].States.Reserve.Catch).toEqual([
      { ErrorEquals: ['States.Timeout'], Next: 'Caught' },
    ]);
  });
});

describe('H11 deadlines', () => {
  it('every waiting state has a literal time-out, and the machine one of its own', () => {
    const waiting = Object.values<{ Resource?: string; TimeoutSeconds?: number }>(definition.States).filter(
      ({ Resource }) => Resource?.endsWith('.waitForTaskToken'),
    );
    expect(waiting.map(({ TimeoutSeconds }) => TimeoutSeconds)).toEqual([630, 630, 630, 630]);
    expect(definition.TimeoutSeconds).toBe(30 * 86_400);
  });
});

describe('Workflow', () => {
  it('adds no states', () => {
    expect(Object.keys(definition.States)).toEqual([
      'ReserveStock',
      'ChargePayment',
      'IsPaid',
      'ShipOrder',
      'NotifyCustomer',
      'PaymentDeclined',
    ]);
  });

  it('is a standard machine with logs (without data) and traces on AWS, and without them on the local cloud', () => {
    const [onAws] = Object.values(resources(pipeline, 'AWS::StepFunctions::StateMachine'));
    expect(onAws?.Properties).toMatchObject({
      StateMachineType: 'STANDARD',
      TracingConfiguration: { Enabled: true },
      LoggingConfiguration: { Level: 'ALL', IncludeExecutionData: false },
    });
    const [local] = Object.values(
      resources(buildStage('local').pipeline, 'AWS::StepFunctions::StateMachine'),
    );
    expect(local?.Properties.LoggingConfiguration).toBeUndefined();
  });

  it('tells close of every end of an execution, with dead letters on both ways', () => {
    const rules = Object.values(resources(pipeline, 'AWS::Events::Rule'));
    const ended = rules.find(({ Properties }) => Properties.EventPattern);
    expect(ended?.Properties.EventPattern).toEqual({
      source: ['aws.states'],
      'detail-type': ['Step Functions Execution Status Change'],
      detail: {
        stateMachineArn: [{ Ref: expect.stringMatching(/^WorkfloworderMachine/) }],
        status: ['SUCCEEDED', 'FAILED', 'TIMED_OUT', 'ABORTED'],
      },
    });
    const deadLetters = { 'Fn::GetAtt': [expect.stringMatching(/^CloseDeadLetters/), 'Arn'] };
    expect(ended?.Properties.Targets).toEqual([
      expect.objectContaining({
        Arn: { 'Fn::GetAtt': [expect.stringMatching(/^CloseFunction/), 'Arn'] },
        DeadLetterConfig: { Arn: deadLetters },
      }),
    ]);
    const invokes = Object.values(resources(pipeline, 'AWS::Lambda::EventInvokeConfig'));
    expect(
      invokes.map(({ Properties }) => Properties.DestinationConfig?.OnFailure.Destination),
    ).toContainEqual(deadLetters);
  });

  it('has a definition hash that changes with the states and not with the stage', () => {
    const hashOf = (states: Parameters<typeof buildPipeline>[0]['states']) =>
      buildPipeline({ states }).workflow.definitionHash;
    const reserve = (literal: string) => (scope: Construct) =>
      new RunTask(scope, 'Reserve', { task: reserveStock, input: { orderId: literal } });
    expect(hashOf(reserve('a'))).toMatch(/^[0-9a-f]{16}$/);
    expect(hashOf(reserve('a'))).toBe(hashOf(reserve('a')));
    expect(hashOf(reserve('a'))).not.toBe(hashOf(reserve('b')));
    const deployed = (stage: 'local' | 'prod') => {
      const { pipeline: stack } = buildStage(stage);
      const trigger = Object.entries(resources(stack, 'AWS::Lambda::Function')).find(([id]) =>
        id.startsWith('Trigger'),
      );
      const text = JSON.stringify(trigger?.[1].Properties.Environment.Variables.EDOW_WORKFLOWS);
      return /definition\W+([0-9a-f]{16})/.exec(text)?.[1];
    };
    expect(deployed('local')).toMatch(/^[0-9a-f]{16}$/);
    expect(deployed('local')).toBe(deployed('prod'));
  });

  it('grants nothing but to start', () => {
    const { workflow, stack } = buildPipeline({
      states: (scope) => new RunTask(scope, 'Reserve', { task: reserveStock, input: fromInput() }),
    });
    expect(Stack.of(workflow)).toBe(stack);
    const grant = workflow.grantStart(workflow.machine.role);
    expect(grant.principalStatement?.actions).toEqual(['states:StartExecution']);
    expect(stack.resolve(grant.principalStatement?.resources)).toEqual([
      { Ref: expect.stringMatching(/^WorkflowMachine/) },
    ]);
  });
});
