/** The MiniStack process itself: how it is launched, and how it is told from other processes. */

import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CertificateFiles } from './certificate.ts';
import { type Cloud, recordFile } from './cloud.ts';
import { NODE_DIR } from './places.ts';

export function logFile(stateDir: string): string {
  return join(stateDir, 'emulator.log');
}

/** The unpacked code of the functions lies here, so that their processes can be told by their command lines. */
export function tmpFolder(stateDir: string): string {
  return join(stateDir, 'tmp');
}

function homeFolder(stateDir: string): string {
  return join(stateDir, 'home');
}

/** The functions inherit this environment: it holds what they and the emulator need and nothing of the person's. */
export function emulatorEnv(port: number, stateDir: string, files: CertificateFiles): Record<string, string> {
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
    // The emulator's own wrapper of functions calls url.parse: no line on that in each function's log.
    NODE_OPTIONS: '--disable-warning=DEP0169',
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

/** Whether a process with this command line is the emulator of that record, and not one that got its id since. */
export function isEmulator(command: string, cloud: Cloud): boolean {
  return (
    command.includes('ministack.app:app') &&
    command.includes(`127.0.0.1:${cloud.port} --certfile ${cloud.certificate}`)
  );
}

/** Starts the process and writes its record; it is not ready yet. */
export async function launch(
  port: number,
  stateDir: string,
  python: string,
  files: CertificateFiles,
): Promise<Cloud> {
  const tmp = tmpFolder(stateDir);
  await rm(tmp, { recursive: true, force: true });
  for (const folder of [tmp, homeFolder(stateDir)]) await mkdir(folder, { recursive: true });
  // Functions run from here. Without a manifest of its own the folder counts as part of this ES module package.
  await writeFile(join(tmp, 'package.json'), '{"type":"commonjs"}\n');
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
