/** What many schedules add up to, and how it is printed. */
import { FAULT_KINDS } from './faults.ts';
import type { Outcome } from './schedule.ts';

/** An outcome as it travels between processes. */
export interface Line {
  readonly seed: number;
  readonly broken: readonly string[];
  readonly faults: readonly string[];
  readonly ends: readonly string[];
  readonly eventsLost: number;
}

export const lineOf = (outcome: Outcome): Line => ({
  seed: outcome.seed,
  broken: outcome.broken,
  faults: [...outcome.faults.keys()],
  ends: outcome.ends,
  eventsLost: outcome.eventsLost,
});

export interface Totals {
  schedules: number;
  /** Schedules with fewer than three kinds of fault. */
  tooCalm: number;
  eventsLost: number;
  readonly failed: Line[];
  /** Schedules in which a kind of fault struck. */
  readonly faults: Map<string, number>;
  readonly ends: Map<string, number>;
}

/** Failures that are kept for the report. */
const KEPT = 1000;
const LEAST_KINDS = 3;
/** Part of the schedules in which each kind must strike. */
const LEAST_SHARE = 0.01;
/** Below this number a share says nothing. */
const ENOUGH = 1000;

export const noTotals = (): Totals => ({
  schedules: 0,
  tooCalm: 0,
  eventsLost: 0,
  failed: [],
  faults: new Map(FAULT_KINDS.map((kind) => [kind, 0])),
  ends: new Map(),
});

const bump = (map: Map<string, number>, key: string): void => void map.set(key, (map.get(key) ?? 0) + 1);

export function add(totals: Totals, line: Line): void {
  totals.schedules += 1;
  if (line.faults.length < LEAST_KINDS) totals.tooCalm += 1;
  totals.eventsLost += line.eventsLost;
  if (line.broken.length > 0 && totals.failed.length < KEPT) totals.failed.push(line);
  for (const kind of line.faults) bump(totals.faults, kind);
  for (const end of line.ends) bump(totals.ends, end);
}

/** Kinds of fault that strike too seldom to prove anything. */
export const rareKinds = ({ schedules, faults }: Totals): string[] =>
  schedules < ENOUGH
    ? []
    : [...faults].filter(([, count]) => count < LEAST_SHARE * schedules).map(([kind]) => kind);

/** An invariant without the ids of one schedule, to group failures of one kind. */
export const kindOf = (broken: string): string =>
  broken
    .replace(/\b[0-9A-HJKMNP-TV-Z]{26}\b/g, 'R')
    .replace(/\/S\d[ab]/g, '/S')
    .replace(/-m\d+/g, '-m')
    .replace(/\d{2,}/g, '#');

const BAR = 40;
const table = (title: string, counts: ReadonlyMap<string, number>, of: number): string[] => [
  title,
  ...[...counts]
    .sort((left, right) => right[1] - left[1])
    .map(([name, count]) => {
      const share = count / Math.max(1, of);
      return `  ${name.padEnd(34)} ${String(count).padStart(8)} ${(100 * share).toFixed(1).padStart(6)} %  ${'#'.repeat(Math.round(share * BAR))}`;
    }),
];

/** Histograms of faults (share of schedules) and of final states (share of runs, or of tasks). */
export function histograms(totals: Totals): string[] {
  const ends = (word: string): ReadonlyMap<string, number> =>
    new Map([...totals.ends].filter(([end]) => end.startsWith(word)));
  const sum = (counts: ReadonlyMap<string, number>): number =>
    [...counts.values()].reduce((a, b) => a + b, 0);
  return [
    ...table('kinds of fault, by schedules in which they struck', totals.faults, totals.schedules),
    ...table('final states of runs', ends('run'), sum(ends('run'))),
    ...table('final states of tasks', ends('task'), sum(ends('task'))),
  ];
}

/** Failures grouped by invariant, each with its first seeds. */
export function failures(totals: Totals): string[] {
  const groups = new Map<string, number[]>();
  for (const { seed, broken } of totals.failed) {
    const kind = kindOf(broken[0] ?? '');
    groups.set(kind, [...(groups.get(kind) ?? []), seed]);
  }
  return [...groups].map(
    ([kind, seeds]) => `  ${kind}: ${seeds.length} schedules, seeds ${seeds.slice(0, 5).join(', ')}`,
  );
}
