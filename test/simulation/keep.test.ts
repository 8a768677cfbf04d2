import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readKept, writeKept } from './keep.ts';
import { noTotals } from './report.ts';

function file(): string {
  const folder = mkdtempSync(join(tmpdir(), 'edow-keep-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'campaign.json');
}

test('a campaign begins with nothing, and goes on with what was kept last', () => {
  const kept = file();
  expect(readKept(kept, 10)).toEqual({ from: 10, next: 10, totals: noTotals() });
  const totals = noTotals();
  for (const [next, count] of [
    [2010, 2000],
    [4010, 4000],
  ] as const) {
    totals.schedules = count;
    totals.faults.set('message late', next);
    totals.ends.set('run succeeded', count);
    writeKept(kept, { from: 10, next, totals });
    expect(readKept(kept, 10)).toEqual({ from: 10, next, totals });
  }
  expect(existsSync(`${kept}.new`)).toBe(false);
});

test('the file of a campaign that began elsewhere is refused, and stays', () => {
  const kept = file();
  writeKept(kept, { from: 0, next: 2000, totals: noTotals() });
  expect(() => readKept(kept, 5)).toThrow('is of a campaign from seed 0, not 5');
  expect(readKept(kept, 0).next).toBe(2000);
});
