/** What the deployed functions' roles allow, statement by statement, and a way to do without one for a while. */
import {
  DeleteRolePolicyCommand,
  GetRolePolicyCommand,
  ListRolePoliciesCommand,
  PutRolePolicyCommand,
} from '@aws-sdk/client-iam';
import { GetFunctionConfigurationCommand } from '@aws-sdk/client-lambda';
import type { Deployed } from './deployed.ts';

interface Statement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
}
interface PolicyDocument {
  readonly Version: string;
  readonly Statement: Statement | readonly Statement[];
}

/** One Allow statement of one function's role, or one action of it. */
export interface Grant {
  /** Name of the function, as in output `Functions`. */
  readonly stage: string;
  readonly role: string;
  readonly policy: string;
  readonly index: number;
  readonly actions: readonly string[];
  /** What the resources are called, without account and region. */
  readonly resources: string;
}

const listOf = <T>(value: T | readonly T[]): readonly T[] =>
  Array.isArray(value) ? (value as readonly T[]) : [value as T];
const shortArn = (arn: unknown): string => String(arn).split(':').slice(5).join(':') || String(arn);

async function document({ iam }: Deployed, RoleName: string, PolicyName: string): Promise<PolicyDocument> {
  const { PolicyDocument: text = '' } = await iam.send(new GetRolePolicyCommand({ RoleName, PolicyName }));
  return JSON.parse(decodeURIComponent(text)) as PolicyDocument;
}

/** Every Allow statement of every function's own policies. */
export async function grantsOf(system: Deployed): Promise<Grant[]> {
  const grants: Grant[] = [];
  for (const [stage, FunctionName] of Object.entries(system.functions)) {
    const { Role = '' } = await system.lambda.send(new GetFunctionConfigurationCommand({ FunctionName }));
    const role = Role.slice(Role.lastIndexOf('/') + 1);
    const { PolicyNames = [] } = await system.iam.send(new ListRolePoliciesCommand({ RoleName: role }));
    for (const policy of PolicyNames.toSorted()) {
      const { Statement } = await document(system, role, policy);
      for (const [index, statement] of listOf(Statement).entries())
        if (statement.Effect === 'Allow')
          grants.push({
            stage,
            role,
            policy,
            index,
            actions: listOf(statement.Action),
            resources: listOf(statement.Resource).map(shortArn).join(', '),
          });
    }
  }
  return grants;
}

/** The statement's actions as grants of their own. */
export const eachAction = (grant: Grant): Grant[] =>
  grant.actions.map((action) => ({ ...grant, actions: [action] }));

/**
 * Works without the grant: its actions are taken out of its statement, and the policy is put back at the end, however
 * that comes.
 */
export async function without<T>(system: Deployed, grant: Grant, work: () => Promise<T>): Promise<T> {
  const { role: RoleName, policy: PolicyName } = grant;
  const whole = await document(system, RoleName, PolicyName);
  const rest = listOf(whole.Statement).flatMap((statement, index) => {
    if (index !== grant.index) return [statement];
    const Action = listOf(statement.Action).filter((action) => !grant.actions.includes(action));
    return Action.length === 0 ? [] : [{ ...statement, Action }];
  });
  const put = (policy: PolicyDocument) =>
    system.iam.send(
      new PutRolePolicyCommand({ RoleName, PolicyName, PolicyDocument: JSON.stringify(policy) }),
    );
  try {
    if (rest.length > 0) await put({ ...whole, Statement: rest });
    else await system.iam.send(new DeleteRolePolicyCommand({ RoleName, PolicyName }));
    return await work();
  } finally {
    await put(whole);
  }
}
