/** A local cloud of the suite's own: free port, own folder, the real deploy, gone when the suite is. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cloudVariables } from '#local/cloud.ts';
import { deploy } from '#local/deploy.ts';
import { startCloud } from '#local/emulator.ts';
import { NODE_DIR, STATE_ROOT } from '#local/places.ts';
import { freePort } from '#local/ports.ts';
import { commandOf } from '#local/processes.ts';
import { stackNames } from '#stacks/stack-names.ts';
import type { Target } from './target.ts';
import { LOCAL_TENANTS } from './tenants.ts';

export interface OwnCloud {
  readonly target: Target;
  /** @param keepLogs leaves the folder with the logs of emulator and deploy */
  stop(keepLogs?: boolean): Promise<void>;
  readonly stateDir: string;
}

/** Folders that failed suites left for a look at their logs; a suite that runs has its process. */
async function sweepOldLogs(): Promise<void> {
  const folders = await readdir(STATE_ROOT).catch(() => []);
  for (const folder of folders) {
    const [, pid] = /^test-(\d+)-/.exec(folder) ?? [];
    if (pid === undefined || commandOf(Number(pid)) !== undefined) continue;
    await rm(join(STATE_ROOT, folder), { recursive: true, force: true });
  }
}

/** @param say told in short lines what is under way */
export async function ownCloud(say: (line: string) => void): Promise<OwnCloud> {
  await sweepOldLogs();
  const stateDir = join(STATE_ROOT, `test-${process.pid}-${Date.now().toString(36)}`);
  const keeper = spawn(
    join(NODE_DIR, 'node'),
    ['--no-warnings', join(import.meta.dirname, 'keeper.ts'), stateDir],
    // A session of its own: a Ctrl-C of the terminal must not reach it.
    { stdio: ['pipe', 'ignore', 'inherit'], detached: true },
  );
  const stop = async (keepLogs = false): Promise<void> => {
    if (keeper.exitCode !== null) return;
    const ended = once(keeper, 'exit');
    keeper.stdin.end(keepLogs ? 'keep' : '');
    await ended;
  };
  try {
    const { cloud } = await startCloud({ port: await freePort(), stateDir, say });
    const outputs = await deploy({
      cloud,
      app: 'node bin/app.ts',
      context: { stage: 'local', tenants: JSON.stringify(LOCAL_TENANTS) },
      outputsFile: join(stateDir, 'outputs.json'),
      onProgress: say,
    });
    const target: Target = {
      name: `local cloud at ${cloud.endpoint}`,
      variables: cloudVariables(cloud),
      certificate: cloud.certificate,
      mapsTenants: true,
      outputs: outputs[stackNames('local').pipeline] ?? {},
    };
    return { target, stop, stateDir };
  } catch (error) {
    await stop(true);
    throw error;
  }
}
