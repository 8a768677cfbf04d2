/** What functions may do with the deployed workflows. */
import {
  ArnFormat,
  type CfnElement,
  aws_iam as iam,
  type aws_lambda as lambda,
  Stack,
  Validations,
} from 'aws-cdk-lib';
import { type DeployedWorkflow, ENV } from '#core/env-names.ts';
import { type Access, allow } from './access.ts';
import type { Stage } from './stage.ts';
import type { Workflow } from './workflow.ts';

/** Starts executions, by the map of workflows in the environment. */
export const startsWorkflows =
  (workflows: readonly Workflow[]): Access =>
  (fn) => {
    allow(
      fn,
      'states',
      ['StartExecution'],
      workflows.map(({ machine }) => machine.stateMachineArn),
    );
    fn.addEnvironment(ENV.workflows, Stack.of(fn).toJsonString(deployed(workflows)));
  };

/** Looks executions up, whoever named them. */
export const describesExecutions =
  (workflows: readonly Workflow[]): Access =>
  (fn) => {
    allow(fn, 'states', ['DescribeExecution'], workflows.map(executionsOf));
    acknowledgeExecutions(fn, workflows);
  };

/**
 * Answers task tokens. A policy beside the function and not in its role's own: machines wait for the function that
 * their states call, so the function must not wait for a policy that names them.
 */
export function grantAnswers(fn: lambda.Function, workflows: readonly Workflow[], stage: Stage): void {
  const role = fn.role;
  if (!role) throw new Error(`${fn.node.path}: the function has no role`);
  new iam.Policy(fn.node.scope ?? fn, 'AnswerPolicy', {
    roles: [role],
    statements: [
      new iam.PolicyStatement({
        actions: ['states:SendTaskSuccess', 'states:SendTaskFailure'],
        resources: stage.answerOn === '*' ? ['*'] : workflows.map(({ machine }) => machine.stateMachineArn),
      }),
    ],
  });
}

const executionsOf = ({ machine }: Workflow): string =>
  Stack.of(machine).formatArn({
    service: 'states',
    resource: 'execution',
    resourceName: `${machine.stateMachineName}:*`,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });

function acknowledgeExecutions(fn: lambda.Function, workflows: readonly Workflow[]): void {
  for (const { machine } of workflows) {
    const logicalId = Stack.of(machine).getLogicalId(machine.node.defaultChild as CfnElement);
    Validations.of(fn.role ?? fn).acknowledge({
      id: `AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:<${logicalId}.Name>:*]`,
      reason:
        'Executions are named at run time, after their runs: the wildcard stands for executions of this one machine (test/infra lists every wildcard).',
    });
  }
}

const deployed = (workflows: readonly Workflow[]): Record<string, DeployedWorkflow> =>
  Object.fromEntries(
    workflows.map(({ workflowName, machine, definitionHash }) => [
      workflowName,
      { stateMachineArn: machine.stateMachineArn, definition: definitionHash },
    ]),
  );
