/** The record of a running emulator, kept in its state folder, and what a process must be told to use it. */

import { readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { trustCertificate } from './certificate.ts';
import { NODE_DIR, STATE_ROOT } from './places.ts';

export const DEFAULT_PORT = 4566;
export const DEFAULT_STATE_DIR = join(STATE_ROOT, 'cloud');
export const ACCOUNT = '000000000000';
export const REGION = 'us-east-1';

export interface Cloud {
  /** Of every service, without a slash at its end: `https://127.0.0.1:4566`. */
  readonly endpoint: string;
  readonly port: number;
  readonly pid: number;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly stateDir: string;
  /** Path of the PEM file that clients must trust. */
  readonly certificate: string;
}

export function recordFile(stateDir: string): string {
  return join(stateDir, 'cloud.json');
}

/** Undefined when nothing was started here, or when the record was cut short by a crash. */
export function readRecord(stateDir: string): Cloud | undefined {
  try {
    return JSON.parse(readFileSync(recordFile(stateDir), 'utf8'));
  } catch {
    return undefined;
  }
}

/** What any AWS client needs to reach the cloud: SDKs, the AWS command line, the CDK. */
export function cloudVariables(cloud: Cloud): Record<string, string> {
  return {
    AWS_ENDPOINT_URL: cloud.endpoint,
    AWS_ENDPOINT_URL_S3: cloud.endpoint,
    // The emulator takes exactly this pair for the account's root.
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_REGION: REGION,
    AWS_DEFAULT_REGION: REGION,
    AWS_CA_BUNDLE: cloud.certificate,
    NODE_EXTRA_CA_CERTS: cloud.certificate,
    // Nothing is looked up outside this machine.
    AWS_EC2_METADATA_DISABLED: 'true',
    CDK_DISABLE_CLI_TELEMETRY: 'true',
    CDK_DISABLE_VERSION_CHECK: '1',
    // Its cache maps access keys to accounts: `test` must not mix with another cloud's.
    CDK_HOME: join(cloud.stateDir, 'cdk-home'),
  };
}

/**
 * The whole environment of a child process that works on the cloud. A profile, a session token or an endpoint that the
 * person has set for AWS must not get in: of `outer`, nothing that begins with AWS_ or CDK_ is kept.
 */
export function cloudEnv(cloud: Cloud, outer: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const kept = Object.entries(outer).filter(([name]) => !/^(AWS|CDK)_/.test(name));
  const path = [NODE_DIR, outer['PATH'] ?? '/usr/bin:/bin'].join(delimiter);
  return { ...(Object.fromEntries(kept) as Record<string, string>), PATH: path, ...cloudVariables(cloud) };
}

/** Turns this very process to the cloud: every client made from here on uses it. */
export function enterCloud(cloud: Cloud): void {
  for (const name of Object.keys(process.env)) if (/^(AWS|CDK)_/.test(name)) delete process.env[name];
  Object.assign(process.env, cloudVariables(cloud));
  trustCertificate(cloud.certificate);
}
