/**
 * Proves that the simulation can fail: `npm run sim:mutants [-- --only TEXT] [--schedules N] [--at-once N]`.
 * Each mutation is planted in a temporary copy of the project and must be found within N seeds (default 10,000);
 * its simulation stops at the first seed that breaks. Two run at once by default, on one thread each.
 * Exit code 1 when one is not found, does not apply, or the unchanged code fails.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { lanes } from '#core/lanes.ts';
import type { Mutation } from './mutation.ts';
import { MUTATIONS } from './mutations.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** What the simulation is made of. */
const PARTS = [
  'package.json',
  'lib/core',
  'lib/runtime',
  'lib/adapters',
  'test/support/memory',
  'test/simulation',
];

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    schedules: { type: 'string' },
    'at-once': { type: 'string' },
    unchanged: { type: 'boolean' },
  },
});
const atOnce = Number(values['at-once'] ?? 2);
const schedules = values.schedules ?? '10000';

function copyOfProject(): string {
  const folder = mkdtempSync(join(tmpdir(), 'edow-mutant-'));
  for (const part of PARTS) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** @throws Error unless each patch applies exactly once */
function plant(folder: string, { name, patches }: Mutation): void {
  for (const { file, from, to } of patches) {
    const path = join(folder, file);
    const source = readFileSync(path, 'utf8');
    const found = source.split(from).length - 1;
    if (found !== 1)
      throw new Error(`mutation "${name}": its text stands ${found} times in ${file}, not once`);
    writeFileSync(
      path,
      source.replace(from, () => to),
    );
  }
}

interface Found {
  /** Seeds until the first failure; undefined: none. */
  readonly seeds: number | undefined;
  readonly invariant: string;
}

/** Runs the simulation of a copy until its first failure. */
function simulate(folder: string, threads: number): Promise<Found> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      [
        join(folder, 'test/simulation/run.ts'),
        ...['--schedules', schedules, '--threads', String(threads), '--first'],
      ],
      { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString();
      });
    child.on('error', reject);
    child.on('exit', () => {
      const first = /^first: seed (\d+): (.*)$/m.exec(output);
      if (first?.[1] !== undefined) resolve({ seeds: Number(first[1]) + 1, invariant: first[2] ?? '' });
      else if (/^sim: \d+ schedules, .*, 0 broken/m.test(output))
        resolve({ seeds: undefined, invariant: '' });
      else reject(new Error(`the simulation did not run: ${output.slice(-600)}`));
    });
  });
}

async function tried(mutation: Mutation, threads: number): Promise<Found> {
  const folder = copyOfProject();
  try {
    plant(folder, mutation);
    return await simulate(folder, threads);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const WIDTH = 72;
const row = (name: string, seeds: string, invariant: string): void =>
  console.log(`${name.padEnd(WIDTH)} ${seeds.padStart(9)}  ${invariant.slice(0, 90)}`);

let missed = 0;
let most = 0;
row('mutation', 'seeds', 'invariant that broke first');
const chosen = MUTATIONS.filter(({ name }) => name.includes(values.only ?? ''));
async function judge(mutation: Mutation): Promise<void> {
  try {
    const { seeds, invariant } = await tried(mutation, 1);
    row(mutation.name, seeds === undefined ? 'NOT FOUND' : String(seeds), invariant);
    if (seeds === undefined) missed += 1;
    else most = Math.max(most, seeds);
  } catch (error) {
    missed += 1;
    row(mutation.name, 'ERROR', error instanceof Error ? error.message : String(error));
  }
}

await lanes(chosen, atOnce, judge);
const clean = values.unchanged === false ? undefined : await tried({ name: 'none', patches: [] }, atOnce);
if (clean)
  row('(unchanged code)', clean.seeds === undefined ? 'clean' : String(clean.seeds), clean.invariant);
console.log(
  `mutants: ${chosen.length - missed} of ${chosen.length} found, the last after ${most} seeds; unchanged code ${clean?.seeds === undefined ? 'passes' : 'FAILS'} ${schedules} seeds`,
);
process.exitCode = missed > 0 || clean?.seeds !== undefined ? 1 : 0;
