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
  readonly Resource: string | readonly string[];
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
  readonly arns: readonly string[];
}

const listOf = <T>(value: T | readonly T[]): readonly T[] =>
  Array.isArray(value) ? (value as readonly T[]) : [value as T];
const shortArn = (arn: string): string => arn.split(':').slice(5).join(':') || arn;

/** For people: without account and region, and never long. */
export const nameOf = ({ stage, actions, arns }: Grant): string =>
  `${stage} ${actions.join(', ')} on ${arns.map(shortArn).join(', ')}`.slice(0, 150);

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
            arns: listOf(statement.Resource),
          });
    }
  }
  return grants;
}

/**
 * The statement's actions as grants of their own; tables, indexes and topics one by one. Queues and machines that stand
 * in one statement are alike: what is needed for one of them is for all.
 */
export const eachAction = (grant: Grant): Grant[] =>
  grant.actions.flatMap((action) =>
    /^(?:dynamodb|sns):/.test(action)
      ? grant.arns.map((arn) => ({ ...grant, actions: [action], arns: [arn] }))
      : [{ ...grant, actions: [action] }],
  );

/**
 * Works without these grants: their actions are taken out of their statements, and the policies are put back at the end,
 * however that comes.
 */
export async function without<T>(
  system: Deployed,
  grants: readonly Grant[],
  work: () => Promise<T>,
): Promise<T> {
  const [{ role: RoleName, policy: PolicyName } = {}] = grants;
  if (RoleName === undefined || PolicyName === undefined) return work();
  const isHere = ({ role, policy }: Grant): boolean => role === RoleName && policy === PolicyName;
  const others = grants.filter((grant) => !isHere(grant));
  const whole = await document(system, RoleName, PolicyName);
  const rest = listOf(whole.Statement).flatMap((statement, index) => {
    const taken = grants.filter((grant) => isHere(grant) && grant.index === index);
    if (taken.length === 0) return [statement];
    return listOf(statement.Action).flatMap((Action): Statement[] => {
      const gone = taken.filter(({ actions }) => actions.includes(Action)).flatMap(({ arns }) => arns);
      const Resource = listOf(statement.Resource).filter((arn) => !gone.includes(arn));
      return Resource.length === 0 ? [] : [{ ...statement, Action, Resource }];
    });
  });
  const put = (policy: PolicyDocument) =>
    system.iam.send(
      new PutRolePolicyCommand({ RoleName, PolicyName, PolicyDocument: JSON.stringify(policy) }),
    );
  try {
    if (rest.length > 0) await put({ ...whole, Statement: rest });
    else await system.iam.send(new DeleteRolePolicyCommand({ RoleName, PolicyName }));
    return await without(system, others, work);
  } finally {
    await put(whole);
  }
}

/** What no code of ours asks for. */
const NEEDLESS = { policy: 'Needless', action: 'dynamodb:DeleteTable' } as const;

export const isPlanted = ({ policy }: Grant): boolean => policy === NEEDLESS.policy;

/** Gives a role a grant that nobody needs, for a check that has to tell it. Returns what takes it away again. */
export async function plantNeedless({ iam }: Deployed, RoleName: string): Promise<() => Promise<unknown>> {
  const PolicyName = NEEDLESS.policy;
  const Statement = [{ Effect: 'Allow', Action: NEEDLESS.action, Resource: '*' }];
  const PolicyDocument = JSON.stringify({ Version: '2012-10-17', Statement });
  await iam.send(new PutRolePolicyCommand({ RoleName, PolicyName, PolicyDocument }));
  return () => iam.send(new DeleteRolePolicyCommand({ RoleName, PolicyName }));
}
