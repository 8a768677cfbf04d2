/** Who calls, as STS tells it: one signed request, for which no other client is needed. */
import { CliError } from '../errors.ts';
import { signedFetch } from './signed-api.ts';

const VERSION = '2011-06-15'; // of the STS API

const regional = (region: string): string =>
  `https://sts.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;

/**
 * ARN of the credentials' user or role session.
 * @param endpoint of an emulator; undefined: AWS's own, in the region
 * @throws CliError `caller_unknown`
 */
export async function callerArn(
  endpoint: string | undefined,
  region: string,
  credentials: Parameters<typeof signedFetch>[3],
): Promise<string> {
  const root = process.env['AWS_ENDPOINT_URL_STS'] ?? endpoint ?? regional(region);
  const response = await signedFetch(
    root,
    'sts',
    region,
    credentials,
  )({
    method: 'POST',
    path: '/',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: `Action=GetCallerIdentity&Version=${VERSION}`,
  });
  const text = await response.text();
  const arn = /<Arn>([^<]{1,600})<\/Arn>/.exec(text)?.[1];
  if (response.ok && arn !== undefined) return arn;
  const code = /<Code>(\w+)<\/Code>/.exec(text)?.[1] ?? `status ${response.status}`;
  throw new CliError(
    'caller_unknown',
    `STS does not say who you are (${code}), and no action is done without a name on record`,
    'Check your credentials: aws sts get-caller-identity',
  );
}
