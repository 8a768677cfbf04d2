/**
 * `npm test`: every project of vitest.config.ts; `npm run test:fast`: all but the emulator. Prints what ran and ends
 * with one line, `N passed, N failed`. A project without a test fails: an empty suite proves nothing.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const FAST = ['unit', 'adapters', 'contract', 'lambdas', 'infra', 'architecture', 'simulation'];
const isFast = process.argv.includes('--fast');
const projects = isFast ? FAST : [...FAST, 'emulator'];
/** Seconds that the fault simulation may take in the fast form. */
const FAST_SIMULATION = '10';

interface Results {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numFailedTestSuites: number;
}

interface Ran {
  readonly project: string;
  readonly passed: number;
  readonly failed: number;
  readonly seconds: number;
}

/** One project in one process. Core's coverage is asked of the unit project alone. */
function run(project: string, folder: string): Ran {
  const file = join(folder, `${project}.json`);
  const began = Date.now();
  const { status } = spawnSync(
    process.execPath,
    [
      join(ROOT, 'node_modules/vitest/vitest.mjs'),
      'run',
      ...['--project', project],
      ...['--reporter', 'default', '--reporter', 'json', `--outputFile.json=${file}`],
      ...(project === 'unit' ? ['--coverage'] : []),
    ],
    {
      cwd: ROOT,
      stdio: 'inherit',
      env: { ...process.env, ...(isFast && { EDOW_SIM_SECONDS: FAST_SIMULATION }) },
    },
  );
  const seconds = (Date.now() - began) / 1000;
  let results: Results | undefined;
  try {
    results = JSON.parse(readFileSync(file, 'utf8')) as Results;
  } catch {
    // The runner itself failed: counted below.
  }
  const passed = results?.numPassedTests ?? 0;
  // A file that could not be loaded has no test that failed.
  const failed = results?.numFailedTests || results?.numFailedTestSuites || 0;
  const skipped = results?.numPendingTests ?? 0;
  // A runner that ended badly, a skipped test, or a project without any test is a failure of its own.
  const broken = status !== 0 && failed === 0 ? 1 : 0;
  return { project, passed, failed: failed + broken + skipped + (passed + failed === 0 ? 1 : 0), seconds };
}

const folder = mkdtempSync(join(tmpdir(), 'edow-test-'));
const ran = projects.map((project) => run(project, folder));
rmSync(folder, { recursive: true, force: true });

console.log('');
for (const { project, passed, failed, seconds } of ran)
  console.log(
    `${project.padEnd(14)} ${String(passed).padStart(5)} passed ${String(failed).padStart(4)} failed ${seconds.toFixed(1).padStart(7)} s`,
  );
const passed = ran.reduce((sum, result) => sum + result.passed, 0);
const failed = ran.reduce((sum, result) => sum + result.failed, 0);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
