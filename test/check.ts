/** `npm run check`: format, lint, types, import rules, dead code. Runs all, then says which failed. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const bin = (name: string): string => join(ROOT, 'node_modules/.bin', name);

const CHECKS: readonly (readonly [string, string, ...string[]])[] = [
  ['format and lint', bin('biome'), 'ci', '--colors=off', '--error-on-warnings', '.'],
  ['types', bin('tsc'), '--noEmit'],
  ['import rules', process.execPath, 'node_modules/vitest/vitest.mjs', 'run', '--project', 'architecture'],
  ['dead code', bin('knip')],
];

const failed = CHECKS.filter(([name, program, ...args]) => {
  console.log(`\n## ${name}`);
  return spawnSync(program, args, { cwd: ROOT, stdio: 'inherit' }).status !== 0;
}).map(([name]) => name);

console.log(failed.length === 0 ? `\nall ${CHECKS.length} checks passed` : `\nfailed: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;
