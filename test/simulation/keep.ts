/** A small file that says how far a long campaign has come, so that it goes on where it stopped. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { noTotals, type Totals } from './report.ts';

export interface Kept {
  /** First seed of the campaign, and the one after the last that counts into the totals. */
  readonly from: number;
  readonly next: number;
  readonly totals: Totals;
}

const entries = (value: unknown): unknown => (value instanceof Map ? [...value] : value);

/**
 * What was kept; nothing yet: a campaign that begins. The file does not know which code it was run with.
 * @throws Error for the file of a campaign that began elsewhere
 */
export function readKept(file: string, from: number): Kept {
  if (!existsSync(file)) return { from, next: from, totals: noTotals() };
  const kept = JSON.parse(readFileSync(file, 'utf8')) as Kept;
  if (kept.from !== from) throw new Error(`${file} is of a campaign from seed ${kept.from}, not ${from}`);
  const { faults, ends, ...rest } = kept.totals;
  return { ...kept, totals: { ...rest, faults: new Map(faults), ends: new Map(ends) } };
}

/** In one step: whoever is interrupted leaves the file as it was before, or as it is after. */
export function writeKept(file: string, kept: Kept): void {
  writeFileSync(
    `${file}.new`,
    JSON.stringify(kept, (_, value: unknown) => entries(value)),
  );
  renameSync(`${file}.new`, file);
}
