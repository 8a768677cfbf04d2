/** Callers of the API beside the suite's own: users of the account, made for one test file. */
import {
  CreateAccessKeyCommand,
  CreateUserCommand,
  DeleteAccessKeyCommand,
  DeleteUserCommand,
  DeleteUserPolicyCommand,
  PutUserPolicyCommand,
} from '@aws-sdk/client-iam';
import type { SigningKey } from '#adapters/sigv4.ts';
import type { Deployed } from './deployed.ts';

export interface MadeCaller extends SigningKey {
  /** Takes user, key and policy away again. */
  remove(): Promise<void>;
}

/**
 * Makes a user.
 * @param mayCall whether its policy allows execute-api:Invoke
 */
export async function makeCaller(
  { iam }: Pick<Deployed, 'iam'>,
  UserName: string,
  mayCall: boolean,
): Promise<MadeCaller> {
  const PolicyName = 'call-the-api';
  await iam.send(new CreateUserCommand({ UserName }));
  if (mayCall)
    await iam.send(
      new PutUserPolicyCommand({
        UserName,
        PolicyName,
        PolicyDocument: JSON.stringify({
          Version: '2012-10-17',
          Statement: [{ Effect: 'Allow', Action: 'execute-api:Invoke', Resource: '*' }],
        }),
      }),
    );
  const { AccessKey } = await iam.send(new CreateAccessKeyCommand({ UserName }));
  const { AccessKeyId = '', SecretAccessKey = '' } = AccessKey ?? {};
  return {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    async remove() {
      await iam.send(new DeleteAccessKeyCommand({ UserName, AccessKeyId }));
      if (mayCall) await iam.send(new DeleteUserPolicyCommand({ UserName, PolicyName }));
      await iam.send(new DeleteUserCommand({ UserName }));
    },
  };
}
