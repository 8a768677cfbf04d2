/** The life of the local cloud: one MiniStack process, detached, that serves AWS's API at one port of 127.0.0.1. */

import { readFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureCertificate } from './certificate.ts';
import { type Cloud, DEFAULT_PORT, DEFAULT_STATE_DIR, readRecord, recordFile } from './cloud.ts';
import { answers, call } from './control-call.ts';
import { isEmulator, launch, logFile, tmpFolder } from './emulator-process.ts';
import { LocalCloudError } from './errors.ts';
import { assertPortIsFree } from './ports.ts';
import { commandOf, membersOf, signal } from './processes.ts';
import { ensureVenv } from './venv.ts';

const READY_MS = 30_000; // it takes 1 s; a busy machine, several times that
const SIGTERM_MS = 6_000; // it ends in 2-3 s, or lingers when an execution waits
const SIGKILL_MS = 2_000;
const POLL_MS = 50;

export interface StartOptions {
  /** Default 4566. */
  readonly port?: number;
  /** One emulator a folder. Default `.edow/cloud`. */
  readonly stateDir?: string;
  /** Told what happens besides the start itself: installs, left-overs that were removed. */
  readonly say?: (line: string) => void;
}

export type CloudStatus =
  | { readonly state: 'stopped' }
  | { readonly state: 'running' | 'unresponsive'; readonly cloud: Cloud }
  /** A record without its process: it was killed, or the machine was started anew. */
  | { readonly state: 'stale'; readonly cloud: Cloud; readonly reason: string };

export async function cloudStatus(stateDir: string = DEFAULT_STATE_DIR): Promise<CloudStatus> {
  const cloud = readRecord(stateDir);
  if (!cloud) return { state: 'stopped' };
  const command = commandOf(cloud.pid);
  if (command === undefined) return { state: 'stale', cloud, reason: `process ${cloud.pid} is gone` };
  if (!isEmulator(command, cloud)) {
    return { state: 'stale', cloud, reason: `process ${cloud.pid} is another program by now` };
  }
  return { state: (await answers(cloud)) ? 'running' : 'unresponsive', cloud };
}

/**
 * Starts the emulator, or returns the one that runs here at that port (`reused`, with all that was deployed to it).
 * IAM is enforced and TLS is on. It outlives this process; its state lives in memory and ends with it.
 *
 * @throws LocalCloudError `already_running` (at another port), `port_taken`, `start_failed`, and those of `ensureVenv`
 */
export async function startCloud(options: StartOptions = {}): Promise<{ cloud: Cloud; reused: boolean }> {
  const { port = DEFAULT_PORT, stateDir = DEFAULT_STATE_DIR, say = () => {} } = options;
  const before = await cloudStatus(stateDir);
  if (before.state === 'running') {
    if (before.cloud.port === port) return { cloud: before.cloud, reused: true };
    throw new LocalCloudError(
      'already_running',
      `the local cloud of ${stateDir} runs at port ${before.cloud.port}, not ${port}`,
      `Use port ${before.cloud.port}, or stop it first: npx edow down`,
    );
  }
  if (before.state !== 'stopped') await stopCloud({ stateDir, say });

  const python = await ensureVenv('cloud', say);
  await mkdir(stateDir, { recursive: true });
  const files = await ensureCertificate(stateDir, python);
  await assertPortIsFree(port);
  const cloud = await launch(port, stateDir, python, files);
  await untilReady(cloud);
  return { cloud, reused: false };
}

/**
 * Ends the emulator and its functions: SIGTERM, a bounded wait, then SIGKILL. Only processes that are certainly ours
 * are touched. Returns false when none was running.
 */
export async function stopCloud(
  options: { readonly stateDir?: string; readonly say?: (line: string) => void } = {},
): Promise<boolean> {
  const { stateDir = DEFAULT_STATE_DIR, say = () => {} } = options;
  const status = await cloudStatus(stateDir);
  if (status.state === 'stopped') return false;
  const { cloud } = status;
  if (status.state === 'stale') say(`removed what an earlier local cloud left behind: ${status.reason}`);
  else await end(cloud);
  // A function that never yields does not notice that its emulator is gone.
  const orphans = membersOf(cloud.pid).filter(({ command }) => command.includes(tmpFolder(stateDir)));
  for (const { pid } of orphans) signal(pid, 'SIGKILL');
  await rm(tmpFolder(stateDir), { recursive: true, force: true });
  await rm(recordFile(stateDir), { force: true });
  return status.state !== 'stale';
}

/** Empties a running emulator in some milliseconds: as new, nothing deployed. */
export async function resetCloud(cloud: Cloud): Promise<void> {
  const status = await call(cloud, 'POST', '/_ministack/reset');
  if (status === 200) return;
  throw new LocalCloudError(
    'reset_failed',
    `the local cloud at ${cloud.endpoint} refused to be emptied (${status ?? 'no answer'})`,
    'Stop and start it: npx edow down, then npx edow up',
  );
}

async function untilReady(cloud: Cloud): Promise<void> {
  const deadline = Date.now() + READY_MS;
  while (commandOf(cloud.pid) !== undefined && Date.now() < deadline) {
    if (await answers(cloud)) return;
    await sleep(POLL_MS);
  }
  const file = logFile(cloud.stateDir);
  const said = readFileSync(file, 'utf8').trim().split('\n').slice(-5).join('\n');
  await stopCloud({ stateDir: cloud.stateDir });
  throw new LocalCloudError(
    'start_failed',
    `the emulator did not come up within ${READY_MS / 1000} s; its last lines:\n${said}`,
    `Read its log (${file}), then try again, perhaps at another port: npx edow up --port ${cloud.port + 1}`,
  );
}

async function end(cloud: Cloud): Promise<void> {
  signal(cloud.pid, 'SIGTERM');
  if (await isGone(cloud.pid, SIGTERM_MS)) return;
  signal(cloud.pid, 'SIGKILL');
  await isGone(cloud.pid, SIGKILL_MS);
}

async function isGone(pid: number, withinMs: number): Promise<boolean> {
  const deadline = Date.now() + withinMs;
  while (commandOf(pid) !== undefined) {
    if (Date.now() >= deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}
