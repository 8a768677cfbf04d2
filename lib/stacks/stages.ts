/** What differs between stages: all of it stands here, and `bin/app.ts` alone reads the context that chooses. */
import {
  CliCredentialsStackSynthesizer,
  DefaultStackSynthesizer,
  type IStackSynthesizer,
  aws_logs as logs,
  RemovalPolicy,
} from 'aws-cdk-lib';
import type { Stage } from '#constructs/stage.ts';
import { STAGE_NAMES, type StageName } from './stack-names.ts';

/** Where the reference workers' calls go: a table of ours that plays the downstream, or a real one. */
export type DownstreamChoice = { readonly stub: true } | { readonly url: string };

export interface StageSettings extends Stage {
  readonly name: StageName;
  readonly synthesizer: () => IStackSynthesizer;
  /** Tables refuse deletion, stacks refuse termination. */
  readonly protect: boolean;
  /** Objects go with their bucket. */
  readonly emptyBucket: boolean;
  /** Dashboards and composite alarms: only where the cloud hosts them. */
  readonly observability: boolean;
  readonly downstream: DownstreamChoice;
  /** Role or user ARN -> tenant. Empty: everybody is `default`. */
  readonly tenants: Readonly<Record<string, string>>;
}

/** What the command line may say: `-c stage=prod -c downstreamUrl=https://..`. */
export interface StageContext {
  /** Default `dev`. */
  readonly stage?: unknown;
  readonly downstreamUrl?: unknown;
  /** JSON, or the object from cdk.json. */
  readonly tenants?: unknown;
  readonly version: string;
}

const ON_AWS = {
  synthesizer: () => new DefaultStackSynthesizer() as IStackSynthesizer,
  executionLogs: true,
  answerOn: 'machines',
  publishActions: ['Publish'],
  releaseActions: ['ChangeMessageVisibility'],
  recordSeconds: 2,
  observability: true,
} as const;

/** @throws Error naming the wrong value, the allowed ones and the flag to pass */
export function stageFrom(context: StageContext): StageSettings {
  const name = (context.stage ?? 'dev') as StageName;
  const shared = { version: context.version, tenants: tenantsFrom(context.tenants) };
  switch (name) {
    case 'local':
      return {
        ...shared,
        name,
        // The local cloud takes uploads by the caller's credentials only, drops execution logs, checks
        // states:SendTask* against `*`, and calls with ten at once as actions of their own.
        synthesizer: () => new CliCredentialsStackSynthesizer() as IStackSynthesizer,
        executionLogs: false,
        answerOn: '*',
        publishActions: ['Publish', 'PublishBatch'],
        releaseActions: ['ChangeMessageVisibility', 'ChangeMessageVisibilityBatch'],
        // A hundred orders at once keep the emulator, its functions and its tables busy on the same cores for minutes.
        recordSeconds: 10,
        observability: false,
        removalPolicy: RemovalPolicy.DESTROY,
        logRetention: logs.RetentionDays.ONE_DAY,
        logLevel: 'debug',
        protect: false,
        emptyBucket: false,
        downstream: { stub: true },
      };
    case 'dev':
      return {
        ...shared,
        ...ON_AWS,
        name,
        removalPolicy: RemovalPolicy.DESTROY,
        logRetention: logs.RetentionDays.ONE_WEEK,
        logLevel: 'debug',
        protect: false,
        emptyBucket: true,
        downstream: { stub: true },
      };
    case 'prod':
      return {
        ...shared,
        ...ON_AWS,
        name,
        removalPolicy: RemovalPolicy.RETAIN,
        logRetention: logs.RetentionDays.THREE_MONTHS,
        logLevel: 'info',
        protect: true,
        emptyBucket: false,
        downstream: { url: downstreamFrom(context.downstreamUrl) },
      };
    default:
      throw new Error(
        `stage is "${String(name)}"; allowed: ${STAGE_NAMES.join(', ')}. Pass one: cdk deploy --all -c stage=dev`,
      );
  }
}

function downstreamFrom(url: unknown): string {
  if (typeof url !== 'string' || !URL.canParse(url) || !url.startsWith('https://'))
    throw new Error(
      `stage prod has no stub downstream and downstreamUrl is ${url === undefined ? 'missing' : `"${String(url)}"`}; allowed: an https URL. Pass it: cdk deploy --all -c stage=prod -c downstreamUrl=https://downstream.example.com`,
    );
  return url;
}

function tenantsFrom(tenants: unknown): Record<string, string> {
  let value: unknown = tenants ?? {};
  try {
    if (typeof tenants === 'string') value = JSON.parse(tenants);
  } catch {
    value = undefined;
  }
  const valid =
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((tenant) => typeof tenant === 'string' && /^[a-z0-9-]{1,40}$/.test(tenant));
  if (!valid)
    throw new Error(
      'tenants is not an object of ARN -> tenant name (lower-case letters, digits, "-"; at most 40). Pass it: -c tenants=\'{"arn:aws:iam::123456789012:role/shop":"shop"}\'',
    );
  return value as Record<string, string>;
}
