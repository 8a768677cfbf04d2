/** The real `cdk bootstrap` and `cdk deploy`, pointed at the local cloud. */

import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { failureLines, progressOf } from './cdk-lines.ts';
import { ACCOUNT, type Cloud, cloudEnv, REGION } from './cloud.ts';
import { answers } from './control-call.ts';
import { LocalCloudError } from './errors.ts';
import { mendOrderedTopics } from './ordered-topics.ts';
import { PROJECT_ROOT } from './places.ts';
import { commandOf } from './processes.ts';
import { runProgram } from './run-program.ts';
import { sdkConfig } from './sdk-config.ts';

const CDK = join(PROJECT_ROOT, 'node_modules', '.bin', 'cdk');

/** The stack that `cdk bootstrap` makes: asset bucket and roles. */
const TOOLKIT_STACK = 'CDKToolkit';

export interface Deployment {
  readonly cloud: Cloud;
  /** How the CDK runs the app, as in cdk.json: `node bin/app.ts`. The pinned Node is first on its PATH. */
  readonly app: string;
  readonly context?: Readonly<Record<string, string>>;
  /** Where the CDK writes the outputs of all stacks. */
  readonly outputsFile: string;
  /** Short lines on what is under way. */
  readonly onProgress?: (line: string) => void;
}

/** Output values by stack, by output name. */
export type Outputs = Readonly<Record<string, Readonly<Record<string, string>>>>;

/**
 * Deploys all stacks of the app and returns their outputs. An update in place where they exist already.
 *
 * @throws LocalCloudError `deploy_failed`, with the last useful lines and the path of the whole log; `unreachable`
 */
export async function deploy(deployment: Deployment): Promise<Outputs> {
  const { cloud, app, outputsFile, onProgress = () => {} } = deployment;
  const logFile = join(cloud.stateDir, 'deploy.log');
  const assembly = join(cloud.stateDir, 'cdk.out');
  const context = Object.entries(deployment.context ?? {}).flatMap(([key, value]) => [
    '--context',
    `${key}=${value}`,
  ]);
  await rm(logFile, { force: true });

  const cdk = async (cwd: string, ...args: string[]) => {
    const { code, tail } = await runProgram({
      program: CDK,
      args: [...args, '--no-notices', '--no-color'],
      env: cloudEnv(cloud),
      cwd,
      logFile,
      onLine: (line) => {
        const progress = progressOf(line);
        if (progress) onProgress(progress);
      },
      // The CDK would try for half a minute to reach an emulator that was killed.
      isWorthwhile: () => commandOf(cloud.pid) !== undefined,
    });
    if (code === 0) return;
    if (!(await answers(cloud))) throw wentAway(cloud, `during cdk ${args[0]}`);
    throw new LocalCloudError(
      'deploy_failed',
      `cdk ${args[0]} failed:\n${failureLines(tail).join('\n')}`,
      `Read the whole log: ${logFile}`,
    );
  };

  const bootstrapOnce = async () => {
    if (await isBootstrapped(cloud)) return;
    onProgress('bootstrapping the account');
    // Outside the project: where a cdk.json names an app, bootstrap would synthesize it once more.
    await cdk(cloud.stateDir, 'bootstrap', `aws://${ACCOUNT}/${REGION}`);
  };
  if (!(await answers(cloud))) throw wentAway(cloud, 'at present');
  onProgress('synthesizing the app');
  // Two separate things, each some seconds long: the app's templates, and the account's asset bucket.
  const both = [
    cdk(PROJECT_ROOT, 'synth', '--quiet', '--app', app, '--output', assembly, ...context),
    bootstrapOnce(),
  ];
  await Promise.allSettled(both);
  await Promise.all(both);
  const options = ['--all', '--require-approval', 'never', '--outputs-file', outputsFile];
  await cdk(PROJECT_ROOT, 'deploy', '--app', assembly, ...options);
  await mendOrderedTopics(cloud);
  return JSON.parse(await readFile(outputsFile, 'utf8'));
}

async function isBootstrapped(cloud: Cloud): Promise<boolean> {
  const client = new CloudFormationClient(await sdkConfig(cloud));
  try {
    await client.send(new DescribeStacksCommand({ StackName: TOOLKIT_STACK }));
    return true;
  } catch (error) {
    const isUnknownStack = error instanceof Error && error.name === 'ValidationError';
    if (isUnknownStack) return false;
    throw error;
  } finally {
    client.destroy();
  }
}

function wentAway(cloud: Cloud, when: string): LocalCloudError {
  return new LocalCloudError(
    'unreachable',
    `the local cloud at ${cloud.endpoint} does not answer ${when}`,
    'Start it again, it keeps nothing: npx edow up',
  );
}
