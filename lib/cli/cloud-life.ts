/** The local cloud from nothing to deployed, with progress for a person. Shared by `up`, `deploy` and the demo. */
import { join } from 'node:path';
import { type Cloud, DEFAULT_PORT, readRecord } from '#local/cloud.ts';
import { deploy, type Outputs } from '#local/deploy.ts';
import { resetCloud, startCloud } from '#local/emulator.ts';
import { ensureVenv } from '#local/venv.ts';
import type { Session } from './leaf.ts';
import type { Screen } from './screen.ts';
import { duration } from './text.ts';

export interface Wanted {
  /** Default: where the cloud of this folder ran last, else 4566. */
  readonly port?: number;
  readonly stateDir: string;
  /** Empties a cloud that runs already. */
  readonly fresh?: boolean;
}

export async function startWithProgress(
  session: Session,
  screen: Screen,
  { port, stateDir, fresh }: Wanted,
): Promise<{ cloud: Cloud; reused: boolean }> {
  const say = (line: string): void => screen.say(`  ${line}`);
  // On its own and first: it may take a minute, and may be cut short.
  await ensureVenv('cloud', say);
  const begun = Date.now();
  const wanted = port ?? readRecord(stateDir)?.port ?? DEFAULT_PORT;
  const starting = startCloud({ port: wanted, stateDir, say });
  session.unbroken = starting;
  const started = await starting;
  delete session.unbroken;
  session.where = `the local cloud at ${started.cloud.endpoint}`;
  const { endpoint } = started.cloud;
  if (started.reused && fresh) await resetCloud(started.cloud);
  screen.say(
    started.reused
      ? `  runs already at ${endpoint}: ${fresh ? 'emptied' : 'reused with all that is in it'}`
      : `  started at ${endpoint} (${duration(Date.now() - begun)})`,
  );
  return started;
}

/** `edow-local-pipeline is done`, `edow-local-state (no changes) is done` */
const STACK_LINE = /^\S+(?: \(no changes\))? is done$/;
/** `edow-local-pipeline 12/170 AWS::SQS::Queue ...`: hundreds of them. */
const RESOURCE_LINE = /^\S+ \d+\/\d+ /;

export async function deployWithProgress(
  screen: Screen,
  cloud: Cloud,
  context: Readonly<Record<string, string>> = {},
): Promise<Outputs> {
  const begun = Date.now();
  let stacks = 0;
  const outputs = await deploy({
    cloud,
    app: 'node bin/app.ts',
    context: { stage: 'local', ...context },
    outputsFile: join(cloud.stateDir, 'outputs.json'),
    onProgress: (line) => {
      if (RESOURCE_LINE.test(line)) return screen.passing(`  ${line}`);
      if (STACK_LINE.test(line)) stacks += 1;
      screen.say(`  ${line}`);
    },
  });
  screen.say(`  deployed ${stacks} stacks by the AWS CDK (${duration(Date.now() - begun)})`);
  return outputs;
}
