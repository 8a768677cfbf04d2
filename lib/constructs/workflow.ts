import { createHash } from 'node:crypto';
import {
  Duration,
  aws_events as events,
  type aws_iam as iam,
  aws_logs as logs,
  Stack,
  aws_stepfunctions as sfn,
  Validations,
} from 'aws-cdk-lib';
import { Construct } from 'constructs';
import type { WorkflowContract } from '#core/contract.ts';
import { INLINE_BYTES } from '#core/payload.ts';
import type { Alarms } from './alarms.ts';
import { graphOf, isWaiting, type StateGraph } from './asl.ts';
import type { Dispatch } from './dispatch.ts';
import type { Stage } from './stage.ts';
import { openScope, type Step } from './workflow-scope.ts';

export interface WorkflowProps {
  readonly stage: Stage;
  readonly contract: WorkflowContract;
  /** The team's states. Build them in the scope that is handed in; nothing is added to them. */
  readonly states: (scope: Construct) => sfn.IChainable;
  readonly dispatch: Dispatch;
  readonly alarms: Alarms;
  /** Longest time of one execution. Default 30 days. */
  readonly timeout?: Duration;
  /** Language of states that do not say. Default JSONPath. RunTask works with either. */
  readonly queryLanguage?: sfn.QueryLanguage;
}

const END_STATES = ['SUCCEEDED', 'FAILED', 'TIMED_OUT', 'ABORTED'];

/** A state machine of the states as the team wrote them, and the rule that tells of its executions' ends. */
export class Workflow extends Construct {
  readonly workflowName: string;
  readonly machine: sfn.StateMachine;
  /** Fires when an execution ends, however it ends. Events are best effort: the sweeper is the guarantee. */
  readonly ended: events.Rule;
  /** Changes when the states do, and not with the account or region. */
  readonly definitionHash: string;

  constructor(scope: Construct, id: string, props: WorkflowProps) {
    super(scope, id);
    const { stage, contract } = props;
    const steps: Step[] = [];
    openScope(this, { contract, dispatch: props.dispatch, steps });
    this.workflowName = contract.name;
    this.machine = new sfn.StateMachine(this, 'Machine', {
      definitionBody: sfn.DefinitionBody.fromChainable(props.states(this)),
      stateMachineType: sfn.StateMachineType.STANDARD,
      timeout: props.timeout ?? Duration.days(30),
      comment: `Workflow ${contract.name}`,
      ...(props.queryLanguage && { queryLanguage: props.queryLanguage }),
      ...(stage.executionLogs && {
        tracingEnabled: true,
        logs: {
          destination: new logs.LogGroup(this, 'Logs', {
            retention: stage.logRetention,
            removalPolicy: stage.removalPolicy,
          }),
          level: sfn.LogLevel.ALL,
          includeExecutionData: false,
        },
      }),
    });
    Validations.of(this.machine.role).acknowledge({
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason:
        'X-Ray and log delivery know no narrower resource; everything else that the role may do names one function (test/infra lists every wildcard).',
    });
    this.ended = new events.Rule(this, 'Ended', {
      description: `Executions of workflow ${contract.name} that ended`,
      eventPattern: {
        source: ['aws.states'],
        detailType: ['Step Functions Execution Status Change'],
        detail: { stateMachineArn: [this.machine.stateMachineArn], status: END_STATES },
      },
    });
    props.alarms.onMachine(contract.name, this.machine);
    const definition = definitionOf(this.machine);
    this.definitionHash = createHash('sha256').update(definition).digest('hex').slice(0, 16);
    this.node.addValidation({
      validate: () => problemsOf(graphOf(JSON.parse(definitionOf(this.machine))), steps),
    });
  }

  /** Allows to start executions, and nothing else. */
  grantStart(grantee: iam.IGrantable): iam.Grant {
    return this.machine.grant(grantee, 'states:StartExecution');
  }
}

/** The definition as JSON text, with `*` where the account, region or a generated name stands. */
export function definitionOf(machine: sfn.StateMachine): string {
  const { definitionString } = machine.node.defaultChild as sfn.CfnStateMachine;
  const resolved: unknown = Stack.of(machine).resolve(definitionString);
  if (typeof resolved === 'string') return resolved;
  const [, parts] = (resolved as { 'Fn::Join': [string, unknown[]] })['Fn::Join'];
  return parts.map((part) => (typeof part === 'string' ? part : '*')).join('');
}

/** Step Functions: bytes of a state's data, which no Catch can catch when there are more. */
const STATE_BYTES = 256 * 1024;
/** Beside what steps expose: the execution's own input, and what the team's own states add. */
const SPARE_BYTES = 8 * 1024;
/** A step's key of 64 characters at most, with its quotes, colon and comma. */
const KEY_BYTES = 70;
/** Fields of a step (see core/result.ts) under its key. 30 steps fit. */
const MOST_EXPOSING = Math.floor((STATE_BYTES - SPARE_BYTES) / (INLINE_BYTES + KEY_BYTES));

function problemsOf({ states, canFollow }: StateGraph, steps: readonly Step[]): string[] {
  const stepOf = new Map(steps.map((step) => [step.stateName, step]));
  const keys = new Map(steps.map((step) => [step.stepKey, step]));
  const problems: string[] = [];
  const exposing = steps.filter(({ exposes }) => exposes).length;
  if (exposing > MOST_EXPOSING)
    problems.push(
      `${exposing} steps expose fields, each up to ${INLINE_BYTES} bytes; allowed: ${MOST_EXPOSING}, as a state holds ${STATE_BYTES} bytes of all of them together. Expose only what a Choice needs, or divide the workflow`,
    );
  for (const { name, state, inMap } of states) {
    if (isWaiting(state) && typeof state.TimeoutSeconds !== 'number')
      problems.push(
        `state "${name}" waits without a time-out: a lost answer would leave it open unseen. Give it "taskTimeout" (a literal number of seconds)`,
      );
    const step = stepOf.get(name);
    if (!step) continue;
    if (inMap || canFollow(name, name))
      problems.push(
        `RunTask ${step.path} stands in a ${inMap ? 'Map' : 'cycle'}: it would be entered more than once with one task id. Give each entry a state of its own`,
      );
    for (const { $from } of step.references) {
      if ($from === 'input') continue;
      const source = keys.get($from);
      if (!source)
        problems.push(
          `RunTask ${step.path} takes input from step "${$from}", which the workflow does not have; its steps are ${[...keys.keys()].join(', ')}`,
        );
      else if (!canFollow(source.stateName, name))
        problems.push(
          `RunTask ${step.path} takes input from step "${$from}", which never comes before it: reorder the states or take the input from elsewhere`,
        );
    }
  }
  for (const step of steps)
    if (keys.get(step.stepKey) !== step)
      problems.push(
        `RunTask ${step.path} has the step key "${step.stepKey}" of another step: set "stepKey" to something else`,
      );
  return problems;
}
