/** Makes a failing schedule smaller: leaves out whatever kinds of fault it fails without. */
import type { FaultKind } from './faults.ts';
import { kindOf } from './report.ts';
import { type Outcome, schedule } from './schedule.ts';

/** Kinds that can be left out while the same invariant stays broken. */
export async function needless(outcome: Outcome): Promise<ReadonlySet<FaultKind>> {
  const wanted = kindOf(outcome.broken[0] ?? '');
  const without = new Set<FaultKind>();
  for (const kind of outcome.faults.keys()) {
    without.add(kind);
    const { broken } = await schedule(outcome.seed, { without });
    if (!broken.some((text) => kindOf(text) === wanted)) without.delete(kind);
  }
  return without;
}

/** The id of a run that an invariant speaks of. */
const RUN_ID = /\b[0-9A-HJKMNP-TV-Z]{26}\b/;

/** The trace of a schedule as lines: faults, writes and what the run in question did. */
export async function traceOf(seed: number, without: ReadonlySet<string>, all: boolean): Promise<string[]> {
  const lines: { readonly text: string; readonly run: boolean }[] = [];
  const outcome = await schedule(seed, {
    without,
    trace: (time, actor, text) => {
      if (all || !text.startsWith('debug:'))
        lines.push({
          text: `${(time / 1000).toFixed(3).padStart(10)} s  ${actor.padEnd(12)} ${text}`,
          run: true,
        });
    },
  });
  const runId = RUN_ID.exec(outcome.broken[0] ?? '')?.[0];
  const kept = all || runId === undefined ? lines : lines.filter(({ text }) => !foreign(text, runId));
  const short = (text: string): string =>
    text.replace(/\b[0-9A-HJKMNP-TV-Z]{22}([0-9A-HJKMNP-TV-Z]{4})\b/g, '..$1').slice(0, 260);
  return [
    ...kept.map(({ text }) => short(text)),
    ...(outcome.broken.length === 0
      ? ['  all invariants hold']
      : outcome.broken.map((text) => `  BROKEN ${short(text)}`)),
  ];
}

/** A line that speaks of other runs only. */
const foreign = (text: string, runId: string): boolean => RUN_ID.test(text) && !text.includes(runId);
