import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** In a process of its own: what a test runner loads is no longer the source, character by character. */
function branches(schedules?: number): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(import.meta.dirname, 'branches.ts'), ...(schedules === undefined ? [] : [String(schedules)])],
    { encoding: 'utf8' },
  );
  return { status, output: stdout + stderr };
}

/** It takes as long as half of the schedules that `npm test` runs anyway: not in the fast form. */
const isFast = process.env['EDOW_SIM_SECONDS'] !== undefined;
const LONGEST_MS = 600_000;

test('a single schedule leaves branches that nobody has excused', { timeout: LONGEST_MS }, () => {
  const { status, output } = branches(1);
  expect(output).toMatch(/lib\/core\/claiming\.ts:\d+ {2}.* {2}NEVER TAKEN/);
  expect(status).toBe(1);
});

if (!isFast)
  test('the simulation alone takes every branch of the delivery core', { timeout: LONGEST_MS }, () => {
    const { status, output } = branches();
    console.log(output);
    expect(output.split('\n').filter((line) => line.startsWith('lib/core/'))).toEqual([]);
    expect(output).toContain(' 0 problems');
    expect(status).toBe(0);
  });
