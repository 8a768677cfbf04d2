/** The deployed system that a suite talks to: on the local cloud that the suite starts, or wherever the environment points. */
import type { QueueOutput } from '#stacks/outputs.ts';

/** What the set-up of the suite hands to its test files. Plain JSON. */
export interface Target {
  /** For people: `local cloud at https://127.0.0.1:40123`. */
  readonly name: string;
  /** AWS_* variables of every client; empty where the environment has them already. */
  readonly variables: Readonly<Record<string, string>>;
  /** Path of a PEM file that clients must trust. */
  readonly certificate?: string;
  /** Whether it was deployed with the suite's own map of callers (tenants.ts): only its own cloud is. */
  readonly mapsTenants: boolean;
  /** Outputs of the pipeline stack. */
  readonly outputs: Readonly<Record<string, string>>;
}

/** The pipeline stack's outputs, read. */
export interface Deployment {
  /** Address of the API's stage, without a slash at its end. */
  readonly apiUrl: string;
  readonly stateTable: string;
  readonly viewsTable: string;
  readonly stubTable: string;
  /** Of the payout workflow. */
  readonly accountsTable: string;
  readonly payloadBucket: string;
  readonly commandsTopic: string;
  readonly eventsTopic: string;
  /** By workflow. */
  readonly machines: Readonly<Record<string, string>>;
  /** By pool, and `project`, `collect-retry`, `relay-retry`. */
  readonly queues: Readonly<Record<string, QueueOutput>>;
  /** Function names by stage: `trigger`, `worker-shipping` .. */
  readonly functions: Readonly<Record<string, string>>;
}

/** @throws Error when an output is missing: the stack is another one, or older than this suite */
export function deploymentOf(
  outputs: Target['outputs'],
  endpoint = process.env['AWS_ENDPOINT_URL'],
): Deployment {
  const read = (name: string): string => {
    const value = outputs[name];
    if (value === undefined) throw new Error(`the pipeline stack has no output ${name}: deploy it again`);
    return value;
  };
  return {
    apiUrl: apiUrl(read('ApiUrl'), read('ApiId'), endpoint),
    stateTable: read('StateTableName'),
    viewsTable: read('ViewsTableName'),
    stubTable: read('StubTableName'),
    accountsTable: read('AccountsTableName'),
    payloadBucket: read('PayloadBucketName'),
    commandsTopic: read('CommandsTopicArn'),
    eventsTopic: read('EventsTopicArn'),
    machines: JSON.parse(read('StateMachineArns')),
    queues: JSON.parse(read('Queues')),
    functions: JSON.parse(read('Functions')),
  };
}

/** An emulator's own host names resolve in browsers only; it serves every API under one path as well. */
function apiUrl(url: string, apiId: string, endpoint: string | undefined): string {
  const { hostname } = new URL(url);
  return endpoint && hostname.endsWith('.localhost')
    ? `${endpoint}/_aws/execute-api/${apiId}/$default`
    : url.replace(/\/$/, '');
}

declare module 'vitest' {
  interface ProvidedContext {
    target: Target;
  }
}
