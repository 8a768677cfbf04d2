/**
 * What the worker's chain allocates for a record, beside the usual build: `npm run bench:worker` in small, without its
 * bundles and without CPU, which is no number to hold on a machine that does other things too.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const WORKERS = ['ours', 'usual'].map((name) => join(ROOT, 'bench/worker', `${name}.ts`));
/** The goal; 0.53 as measured, whatever else the machine does. */
const MOST = 0.63;

interface Measured {
  readonly counts: readonly (readonly [string, number])[];
  readonly bytes: readonly number[];
}

test('a record allocates less than 63 % of what it does in the usual build', { timeout: 60_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'edow-bytes-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'result.json');
  const { status, stderr } = spawnSync(
    process.execPath,
    [
      '--expose-gc',
      '--min-semi-space-size=256',
      '--max-semi-space-size=256',
      join(ROOT, 'bench/worker/measure.ts'),
      file,
      '3',
      ...WORKERS,
    ],
    {
      cwd: ROOT,
      encoding: 'utf8',
      env: { ...process.env, AWS_REGION: 'us-east-1' },
      maxBuffer: 64 * 2 ** 20,
    },
  );
  expect(status, stderr).toBe(0);
  const [ours, usual] = JSON.parse(readFileSync(file, 'utf8')) as [Measured, Measured];
  // Both worked: two writes a record, in three rounds of 1,000 after three to warm up.
  expect(Object.fromEntries(ours.counts)).toEqual({ update: 12_000 });
  expect(Object.fromEntries(usual.counts)).toEqual({ put: 6000, update: 6000 });
  const least = ({ bytes }: Measured): number => Math.min(...bytes);
  expect(least(ours) / least(usual)).toBeLessThan(MOST);
});
