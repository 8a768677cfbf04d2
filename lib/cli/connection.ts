/** From the flags to the ports of one cloud. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SFNClient } from '@aws-sdk/client-sfn';
import { fromNodeProviderChain } from '@aws-sdk/credential-providers';
import { dynamoStore } from '#adapters/dynamo-store.ts';
import { dynamoViews } from '#adapters/dynamo-views.ts';
import { s3Payloads } from '#adapters/s3-payloads.ts';
import { sfnExecutions } from '#adapters/sfn.ts';
import { asStep, stepItemKey } from '#core/items.ts';
import type { Executions, Payloads, Views } from '#core/ports.ts';
import type { Store } from '#core/store.ts';
import { enterCloud, REGION } from '#local/cloud.ts';
import { cloudStatus } from '#local/emulator.ts';
import { type StageName, stackNames } from '#stacks/stack-names.ts';
import { callerArn } from './aws/caller.ts';
import { OPERATOR_CLIENT } from './aws/calls.ts';
import { operatorSqs, sqsDeadLetters, sqsDepths } from './aws/dead-letters.ts';
import { lambdaFeeds } from './aws/feeds.ts';
import { lambdaFunctions } from './aws/functions.ts';
import { signedApi } from './aws/signed-api.ts';
import { cloudFormationStacks } from './aws/stacks.ts';
import { CliError } from './errors.ts';
import type {
  Api,
  DeadLetters,
  Feeds,
  Functions,
  Pipeline,
  QueueDepths,
  Stacks,
  TaskLookup,
} from './ports.ts';
import { apiRoot, chooseTarget, nameOf, type Target, type TargetFlags } from './target.ts';

export interface ConnectionFlags extends TargetFlags {
  readonly region?: string;
  readonly stateDir: string;
}

/** One cloud with one stage. Nothing is called before it is needed. */
export interface Connection {
  readonly target: Target;
  /** For messages: `the local cloud at https://127.0.0.1:4566`. */
  readonly where: string;
  readonly stacks: Stacks;
  readonly functions: Functions;
  readonly letters: DeadLetters;
  readonly depths: QueueDepths;
  readonly executions: Executions;
  /** Read once. */
  pipeline(): Promise<Pipeline>;
  api(): Promise<Api>;
  store(): Promise<Store>;
  views(): Promise<Views>;
  /** The payload bucket. */
  payloads(): Promise<Payloads>;
  readonly feeds: Feeds;
  lookUp: TaskLookup;
  /** ARN of whose credentials these are. */
  caller(): Promise<string>;
}

export type Connect = (flags: ConnectionFlags) => Promise<Connection>;

/** How the app is deployed to a target, as a person would type it. */
export function deployLine({ kind, stage, endpoint }: Target): string {
  if (kind === 'local') return 'npx edow deploy';
  const variables =
    endpoint === undefined ? '' : `AWS_ENDPOINT_URL=${endpoint} AWS_ENDPOINT_URL_S3=${endpoint} `;
  return `${variables}npx cdk deploy --all -c stage=${stage}`;
}

/** @throws CliError for a target that is not there */
export async function targetOf(flags: ConnectionFlags): Promise<Target> {
  const status = await cloudStatus(flags.stateDir);
  const target = chooseTarget(flags, status, process.env['AWS_ENDPOINT_URL']);
  if (target.kind === 'local' && 'cloud' in status) enterCloud(status.cloud);
  else enterEnvironment(target, flags.region);
  return target;
}

/** Every client that is made from here on uses it. */
function enterEnvironment({ endpoint }: Target, region: string | undefined): void {
  const { env } = process;
  if (region !== undefined) env['AWS_REGION'] = region;
  if (endpoint === undefined) return;
  env['AWS_ENDPOINT_URL'] = endpoint;
  env['AWS_ENDPOINT_URL_S3'] = endpoint;
  env['AWS_REGION'] ??= env['AWS_DEFAULT_REGION'] ?? REGION;
  // An emulator's credentials are made up: nobody has to ask the machine for its role.
  env['AWS_EC2_METADATA_DISABLED'] = 'true';
}

/** The stacks that a stage has: observability is for AWS only, `prod` has real downstreams. */
function stacksOf(stage: StageName) {
  const { state, stubs, pipeline, observability } = stackNames(stage);
  return {
    state,
    ...(stage !== 'prod' && { stubs }),
    pipeline,
    ...(stage !== 'local' && { observability }),
  };
}

const noCloud = (cause: unknown): CliError =>
  new CliError(
    'credentials_missing',
    'no local cloud runs here, and no AWS credentials were found',
    'Start the local cloud: npx edow up. For AWS log in (aws sso login), or export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
    { cause },
  );

export async function connect(flags: ConnectionFlags): Promise<Connection> {
  const target = await targetOf(flags);
  const where = nameOf(target);
  const credentials = fromNodeProviderChain({ maxRetries: 0, timeout: 1_000 });
  // Asked for first: what is missing is said at once, and not by whichever call comes first.
  await credentials().catch((cause) => {
    throw target.kind === 'aws' ? noCloud(cause) : cause;
  });
  const stacks = cloudFormationStacks(stacksOf(target.stage), where, deployLine(target));
  const sqs = operatorSqs();
  const dynamo = new DynamoDBClient(OPERATOR_CLIENT);
  let known: Promise<Pipeline> | undefined;
  const pipeline = (): Promise<Pipeline> => {
    known ??= stacks.pipeline();
    return known;
  };
  const store = async (): Promise<Store> => dynamoStore(dynamo, (await pipeline()).stateTable);
  return {
    target,
    where,
    stacks,
    functions: lambdaFunctions(),
    letters: sqsDeadLetters(sqs),
    depths: sqsDepths(sqs),
    executions: sfnExecutions(new SFNClient(OPERATOR_CLIENT)),
    pipeline,
    api: async () => {
      const root = apiRoot(target, (await pipeline()).api);
      return signedApi(root, await sqs.config.region(), credentials);
    },
    store,
    views: async () => dynamoViews(dynamo, (await pipeline()).viewsTable),
    payloads: async () =>
      s3Payloads({
        bucket: (await pipeline()).payloadBucket,
        region: await sqs.config.region(),
        credentials,
        ...(target.endpoint !== undefined && { endpoint: target.endpoint }),
      }),
    feeds: lambdaFeeds(),
    lookUp: async (run, step) => {
      const item = await (await store()).get(stepItemKey(run, step));
      return item && asStep(item);
    },
    caller: async () => callerArn(target.endpoint, await sqs.config.region(), credentials),
  };
}
