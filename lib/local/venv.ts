/** Python packages, by version and hash, in folders of their own: nothing is installed into the machine's Python. */

import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalCloudError } from './errors.ts';
import { PROJECT_ROOT, STATE_ROOT } from './places.ts';
import { runProgram } from './run-program.ts';

/** What each environment is for, and what goes into it. */
const REQUIREMENTS = { cloud: 'requirements.txt', check: 'requirements-check.txt' } as const;

const OLDEST_PYTHON = '3.10'; // MiniStack's and cfn-lint's own lower bound
const INSTALL_PYTHON = `Install Python ${OLDEST_PYTHON} or newer with its venv module (Debian, Ubuntu: apt-get install python3 python3-venv).`;

/**
 * The Python program of an environment that holds exactly the packages of its requirements file.
 * The folder is named by the hash of that file and moved into place when complete: other requirements make another one,
 * and two callers at once do no harm.
 *
 * @param say told once, only when packages have to be fetched
 * @throws LocalCloudError `python_missing`, `python_too_old`, `venv_missing`, `pip_failed`
 */
export async function ensureVenv(
  purpose: keyof typeof REQUIREMENTS,
  say: (line: string) => void = () => {},
  folder: string = join(STATE_ROOT, 'venv'),
): Promise<string> {
  const requirements = join(import.meta.dirname, REQUIREMENTS[purpose]);
  const hash = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex')
    .slice(0, 12);
  const home = join(folder, `${purpose}-${hash}`);
  const python = join(home, 'bin', 'python');
  // A link to a Python that was uninstalled since counts as absent.
  if (existsSync(python)) return python;

  say(`installing Python packages of ${REQUIREMENTS[purpose]}; this happens once`);
  await mkdir(folder, { recursive: true });
  const draft = join(folder, `.${purpose}-${randomUUID()}`);
  try {
    await build(draft, requirements, join(folder, `${purpose}.log`));
    await moveInto(home, draft, () => existsSync(python));
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return python;
}

/** Moves the finished folder into place. Whoever is first wins; a folder that was left half made gives way. */
async function moveInto(home: string, draft: string, isComplete: () => boolean): Promise<void> {
  try {
    await rename(draft, home);
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    if (isComplete()) return;
    await rm(home, { recursive: true, force: true });
    await moveInto(home, draft, isComplete);
  }
}

async function build(draft: string, requirements: string, logFile: string): Promise<void> {
  const run = (program: string, ...args: string[]) =>
    runProgram({ program, args, env: process.env, cwd: PROJECT_ROOT, logFile });

  const version = await run(
    'python3',
    '-c',
    'import sys; print("%d.%d" % sys.version_info[:2]); sys.exit(sys.version_info < (3, 10))',
  );
  if (version.missing) {
    throw new LocalCloudError('python_missing', 'python3 was not found on the PATH', INSTALL_PYTHON);
  }
  if (version.code !== 0) {
    const found = version.tail.at(-1) ?? 'unknown';
    throw new LocalCloudError(
      'python_too_old',
      `python3 is version ${found}; ${OLDEST_PYTHON} or newer is needed`,
      INSTALL_PYTHON,
    );
  }
  const venv = await run('python3', '-m', 'venv', draft);
  if (venv.code !== 0) {
    throw new LocalCloudError(
      'venv_missing',
      `python3 could not make a virtual environment: ${venv.tail.at(-1) ?? 'no output'} (log: ${logFile})`,
      'Install the venv module (Debian, Ubuntu: apt-get install python3-venv), then run this again.',
    );
  }
  const python = join(draft, 'bin', 'python');
  const options = [
    '--quiet',
    '--disable-pip-version-check',
    '--require-hashes',
    '--requirement',
    requirements,
  ];
  const pip = await run(python, '-I', '-m', 'pip', 'install', ...options);
  if (pip.code !== 0) {
    throw new LocalCloudError(
      'pip_failed',
      `pip could not install the packages: ${pip.tail.at(-1) ?? 'no output'} (log: ${logFile})`,
      'Check the network and the Python package index in use, then run this again.',
    );
  }
}
