/**
 * `npm run bench:worker`: CPU and heap per record of our worker chain against the same task in the usual build
 * (middy, Powertools batch, idempotency and logger): same stubbed client (see worker/stub-client.ts for what that
 * leaves out), same credential alias, one log line a record, one process, alternating rounds, medians. Then size and cold
 * import of the two bundles, and a flood of finished messages.
 *
 * CPU is that of the whole process, compilation included: all its threads, between two readings of `process.cpuUsage`.
 * It moves much: the medians of seven runs lay between 40 and 60 %, 46 in the middle. test/lambdas/worker-bytes.test.ts
 * holds the bytes, which move by one in a hundred.
 *
 * Where our 22 kB a record go (sampled allocations): promises and frames of some dozen awaits 5.5, the two writes as
 * plain data 2.8, their expressions and values 2.5, the SDK's two command objects 2.7, logs of a record and its line
 * 2.4, input and result through their schemas 2.4, the body as JSON 1.3, the claimed item 0.9. The schemas, the body,
 * the line and the SDK's objects, some 8 kB and a third of our CPU, are the same for both builds. With the SDK's own
 * work both take ten times the CPU, and are alike.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const ROOT = join(import.meta.dirname, '..');
/** At most half the CPU, at least 37 % fewer bytes. */
const GOAL = { cpu: 0.5, bytes: 0.63 } as const;
const ROUNDS = 10;
const COLD_STARTS = 10;

interface Measured {
  readonly name: string;
  readonly counts: readonly (readonly [string, number])[];
  readonly cpuMicros: readonly number[];
  readonly bytes: readonly number[];
}

interface Flood {
  readonly messages: number;
  readonly first: { readonly get?: number; readonly update?: number };
  readonly again: Flood['first'];
  readonly set: number;
  readonly filter: number;
}

const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  return (
    ((sorted[Math.floor((sorted.length - 1) / 2)] ?? 0) + (sorted[Math.ceil((sorted.length - 1) / 2)] ?? 0)) /
    2
  );
};

const folder = mkdtempSync(join(tmpdir(), 'edow-bench-'));
const bundle = async (name: string): Promise<string> => {
  const outfile = join(folder, `${name}.mjs`);
  await build({
    entryPoints: [join(ROOT, 'bench/worker', `${name}.ts`)],
    outfile,
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    mainFields: ['module', 'main'],
    alias: { '@aws-sdk/credential-provider-node': join(ROOT, 'lib/adapters/env-credentials.ts') },
    banner: { js: "import{createRequire as r}from'node:module';const require=r(import.meta.url);" },
    absWorkingDir: ROOT,
    logLevel: 'error',
  });
  return outfile;
};
const bundles = [await bundle('ours'), await bundle('usual')];

const resultFile = join(folder, 'result.json');
const silent = openSync('/dev/null', 'w');
const { status } = spawnSync(
  process.execPath,
  [
    '--expose-gc',
    '--min-semi-space-size=512',
    '--max-semi-space-size=512',
    join(ROOT, 'bench/worker/measure.ts'),
    resultFile,
    String(ROUNDS),
    '--wired',
    ...bundles,
  ],
  { cwd: ROOT, stdio: ['ignore', silent, 'inherit'], env: { ...process.env, AWS_REGION: 'us-east-1' } },
);
if (status !== 0) throw new Error('the measurement failed: its own lines are above');
const [ours, oursWired, usual, usualWired] = JSON.parse(readFileSync(resultFile, 'utf8')) as Measured[];
if (!ours || !oursWired || !usual || !usualWired) throw new Error('the measurement gave no result');

/** Milliseconds of CPU to load a bundle in a fresh process, less those of an empty one. */
function coldCpu(script: string): number {
  const runs = Array.from({ length: COLD_STARTS }, () => {
    const code = `${script}const u=process.cpuUsage();process.stdout.write(String((u.user+u.system)/1000))`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
    return Number(stdout);
  });
  return median(runs);
}
const empty = coldCpu('');
const cold = bundles.map(
  (file) => coldCpu(`await import(${JSON.stringify(pathToFileURL(file).href)});`) - empty,
);

const row = (name: string, a: number, b: number, unit: string, digits = 0): void =>
  console.log(
    `${name.padEnd(22)} ${a.toFixed(digits).padStart(10)} ${b.toFixed(digits).padStart(10)} ${unit.padEnd(12)} ${((a / b) * 100).toFixed(0).padStart(4)} %`,
  );
const cpu = [median(ours.cpuMicros), median(usual.cpuMicros)] as const;
const bytes = [median(ours.bytes), median(usual.bytes)] as const;
console.log(`${''.padEnd(22)} ${'ours'.padStart(10)} ${'usual'.padStart(10)}`);
row('CPU a record', cpu[0], cpu[1], 'us');
row('heap a record', bytes[0], bytes[1], 'bytes');
row('CPU with the SDK', median(oursWired.cpuMicros), median(usualWired.cpuMicros), 'us');
row('heap with the SDK', median(oursWired.bytes), median(usualWired.bytes), 'bytes');
row('bundle', statSync(bundles[0] ?? '').size, statSync(bundles[1] ?? '').size, 'bytes');
row('cold import, CPU', cold[0] ?? 0, cold[1] ?? 0, 'ms', 1);
for (const { name, counts } of [ours, usual])
  console.log(`requests of ${name}: ${counts.map(([operation, n]) => `${operation} ${n}`).join(', ')}`);

const flood = spawnSync(process.execPath, ['--expose-gc', join(ROOT, 'bench/worker/flood.ts')], {
  cwd: ROOT,
  stdio: ['ignore', silent, 'pipe'],
  encoding: 'utf8',
  env: { ...process.env, AWS_REGION: 'us-east-1' },
});
if (flood.status !== 0) throw new Error(`the flood failed: ${flood.stderr}`);
const { messages, first, again, set, filter } = JSON.parse(flood.stderr) as Flood;
const asked = ({ get = 0, update = 0 }: Flood['first']): string => `${get} reads, ${update} refused writes`;
console.log(`flood of ${messages} finished messages, met for the first time: ${asked(first)}`);
console.log(`flood of ${messages} finished messages, met before: ${asked(again)}`);
console.log(
  `filter of finished tasks: ${filter} bytes; a Set of their ids: ${set} bytes; ${((filter / set) * 100).toFixed(1)} %`,
);
rmSync(folder, { recursive: true, force: true });

const met = cpu[0] / cpu[1] <= GOAL.cpu && bytes[0] / bytes[1] <= GOAL.bytes;
console.log(
  met
    ? 'goal met: at most half the CPU, at least 37 % fewer bytes'
    : 'goal missed: at most half the CPU and at least 37 % fewer bytes are asked for',
);
process.exitCode = met ? 0 : 1;
