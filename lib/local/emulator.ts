/** The life of the local cloud: one MiniStack process, detached, that serves AWS's API at one port of 127.0.0.1. */

import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CertificateFiles, ensureCertificate } from './certificate.ts';
import { type Cloud, DEFAULT_PORT, DEFAULT_STATE_DIR, readRecord, recordFile } from './cloud.ts';
import { LocalCloudError } from './errors.ts';
import { NODE_DIR } from './places.ts';
import { commandOf, membersOf, signal } from './processes.ts';
import { ensureVenv } from './venv.ts';

const READY_MS = 30_000; // it takes 1 s; a busy machine, several times that
const ANSWER_MS = 5_000; // of a health check, under load
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
  const tmp = tmpFolder(stateDir);
  await rm(tmp, { recursive: true, force: true });
  for (const folder of [tmp, homeFolder(stateDir)]) await mkdir(folder, { recursive: true });

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

/** A port of 127.0.0.1 that is free at this moment. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : freePort();
}

export function logFile(stateDir: string): string {
  return join(stateDir, 'emulator.log');
}

function tmpFolder(stateDir: string): string {
  return join(stateDir, 'tmp');
}

function homeFolder(stateDir: string): string {
  return join(stateDir, 'home');
}

/** The functions inherit this environment: it holds what they and the emulator need and nothing of the person's. */
function emulatorEnv(port: number, stateDir: string, files: CertificateFiles): Record<string, string> {
  return {
    HOME: homeFolder(stateDir),
    TMPDIR: tmpFolder(stateDir),
    LANG: 'C.UTF-8',
    PATH: `${NODE_DIR}:/usr/bin:/bin`,
    BIND_HOST: '127.0.0.1',
    GATEWAY_PORT: String(port),
    IOT_MTLS_ENABLED: '0', // it would listen at a second, fixed port
    AUTH: 'true',
    USE_SSL: '1',
    MINISTACK_SSL_CERT: files.certificate,
    MINISTACK_SSL_KEY: files.key,
    NODE_EXTRA_CA_CERTS: files.certificate,
  };
}

/**
 * Its own command, `ministack`, would also listen at 127.0.0.1:443 and keep a pid file in /tmp: two emulators at once
 * would meet there. What that command does besides, raising the limit of open files, the shell does.
 */
function emulatorArgs(port: number, files: CertificateFiles): string[] {
  const tls = ['--certfile', files.certificate, '--keyfile', files.key];
  const server = ['--workers', '0', '--keep-alive', '75', '--bind', `127.0.0.1:${port}`];
  return ['-m', 'hypercorn', 'ministack.app:app', ...server, ...tls];
}

function isEmulator(command: string, cloud: Cloud): boolean {
  return (
    command.includes('ministack.app:app') &&
    command.includes(`127.0.0.1:${cloud.port} --certfile ${cloud.certificate}`)
  );
}

async function launch(
  port: number,
  stateDir: string,
  python: string,
  files: CertificateFiles,
): Promise<Cloud> {
  const log = openSync(logFile(stateDir), 'w');
  const raised = 'ulimit -n "$(ulimit -Hn)" 2>/dev/null; exec "$0" "$@"';
  const child = spawn('/bin/sh', ['-c', raised, python, ...emulatorArgs(port, files)], {
    cwd: homeFolder(stateDir),
    env: emulatorEnv(port, stateDir, files),
    detached: true, // a session of its own: no Ctrl-C of ours reaches it, and its group is its pid
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const pid = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => resolve(child.pid ?? 0));
  });
  child.unref();
  const startedAt = new Date().toISOString();
  const endpoint = `https://127.0.0.1:${port}`;
  const cloud: Cloud = { endpoint, port, pid, startedAt, stateDir, certificate: files.certificate };
  await writeFile(recordFile(stateDir), `${JSON.stringify(cloud, null, 2)}\n`);
  return cloud;
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

async function assertPortIsFree(port: number): Promise<void> {
  const server = createServer();
  const problem = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    server.once('error', resolve);
    server.listen(port, '127.0.0.1', () => resolve(undefined));
  });
  if (!problem) {
    await new Promise((resolve) => server.close(resolve));
    return;
  }
  throw new LocalCloudError(
    'port_taken',
    `port ${port} of 127.0.0.1 cannot be used: ${problem.code === 'EADDRINUSE' ? 'another program listens there' : problem.message}`,
    `Choose another one: npx edow up --port ${port + 1}`,
  );
}

async function answers(cloud: Cloud): Promise<boolean> {
  return (await call(cloud, 'GET', '/_ministack/health')) === 200;
}

/** The status code, or undefined without an answer. */
function call(cloud: Cloud, method: string, path: string): Promise<number | undefined> {
  const ca = readFileSync(cloud.certificate);
  const options = { host: '127.0.0.1', port: cloud.port, method, path, ca, agent: false, timeout: ANSWER_MS };
  return new Promise((resolve) => {
    const sent = request(options, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => resolve(undefined));
    sent.end();
  });
}
