/** Run a program to its end, with all that it prints in a log and line by line in a callback. */

import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';

export interface ProgramRun {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** Appended to. */
  readonly logFile: string;
  readonly onLine?: (line: string) => void;
  /** Asked every second; once false, the program is ended (SIGTERM). Default: always true. */
  readonly isWorthwhile?: () => boolean;
}

/** Lines kept for an error message. */
const TAIL_LINES = 40;

const WORTHWHILE_MS = 1_000;

/** `code` is null when the program could not be started (then `missing` may be true) or was ended by a signal. */
export async function runProgram(
  run: ProgramRun,
): Promise<{ code: number | null; missing: boolean; tail: readonly string[] }> {
  const log = createWriteStream(run.logFile, { flags: 'a' });
  log.write(`$ ${[run.program, ...run.args].join(' ')}\n`);
  const child = spawn(run.program, run.args, {
    cwd: run.cwd,
    env: run.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const tail: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      log.write(`${line}\n`);
      run.onLine?.(line);
      if (line.trim() !== '' && tail.push(line) > TAIL_LINES) tail.shift();
    });
  }
  const ended = Promise.withResolvers<{ code: number | null; missing: boolean }>();
  child.on('error', (error: NodeJS.ErrnoException) => {
    ended.resolve({ code: null, missing: error.code === 'ENOENT' });
  });
  child.on('close', (code) => ended.resolve({ code, missing: false }));
  const watch = setInterval(() => {
    if (run.isWorthwhile?.() !== false) return;
    child.kill();
    // Its own children may hold on to its output for a while: nobody waits for them.
    for (const stream of [child.stdout, child.stderr]) stream.destroy();
  }, WORTHWHILE_MS);
  const result = await ended.promise;
  clearInterval(watch);
  await new Promise<void>((resolve) => log.end(resolve));
  return { ...result, tail };
}
