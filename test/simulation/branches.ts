/**
 * Which branches of the delivery core the simulation alone never takes: `npm run sim:branches [-- SCHEDULES]`, seeds 0
 * to SCHEDULES - 1. Lists them with their excuses, and the branches that it takes most seldom. Exit code 1 when one has
 * no excuse, or an excuse is not that of exactly one branch that is never taken.
 */
import { CORE, coverage, type Hits, sourceOf } from './coverage.ts';
import { EXCUSED, type Excuse } from './excused.ts';

const DEFAULT_SCHEDULES = 1500;
const THREADS = 2;
/** Branches that are listed as taken most seldom. */
const SELDOM = 10;

/** A block of code that ran in as many schedules from its first character to its last. */
interface Block {
  readonly file: string;
  readonly line: number;
  /** The line in which it begins, and its own beginning: together they name it. */
  readonly source: string;
  readonly text: string;
  readonly hits: number;
}

const isCode = (text: string): boolean => !/^[})\];,\s]*$/.test(text);

function blocksOf(file: string, source: string, hits: Uint32Array): Block[] {
  const blocks: Block[] = [];
  let start = 0;
  for (let end = 1; end <= source.length; end += 1) {
    if (end < source.length && hits[end] === hits[start]) continue;
    const code = source.slice(start, end);
    if (isCode(code)) {
      const first = start + code.length - code.trimStart().length;
      const lines = source.slice(0, first).split('\n');
      blocks.push({
        file,
        line: lines.length,
        source: (source.split('\n')[lines.length - 1] ?? '').trim(),
        text: (code.trim().split('\n')[0] ?? '').trim(),
        hits: hits[start] ?? 0,
      });
    }
    start = end;
  }
  return blocks;
}

const isOf = ({ file, source, text }: Block, excuse: Excuse): boolean =>
  file === excuse.file && source === excuse.source && text === (excuse.text ?? excuse.source);

/** What is wrong: branches without an excuse, and excuses without their one branch. */
export function problemsOf(gaps: readonly Block[], excuses: readonly Excuse[]): string[] {
  const unexcused = gaps.filter((gap) => !excuses.some((excuse) => isOf(gap, excuse)));
  return [
    ...unexcused.map(
      ({ file, line, source, text }) => `lib/core/${file}.ts:${line}  ${text}  of "${source}"  NEVER TAKEN`,
    ),
    ...excuses.flatMap((excuse) => {
      const count = gaps.filter((gap) => isOf(gap, excuse)).length;
      const name = `lib/core/${excuse.file}.ts  ${excuse.text ?? ''}  of "${excuse.source}"`;
      if (count === 1) return [];
      return count === 0
        ? [`${name}  IS TAKEN OR GONE: drop its excuse`]
        : [`${name}  NAMES ${count} BRANCHES`];
    }),
  ];
}

const blocksIn = (hits: Hits): Block[] =>
  CORE.flatMap((name) => blocksOf(name, sourceOf(name), hits.get(name) ?? new Uint32Array()));

const schedules = Number(process.argv[2] ?? DEFAULT_SCHEDULES);
const began = performance.now();
const blocks = blocksIn(await coverage(schedules, THREADS));
const gaps = blocks.filter(({ hits }) => hits === 0);
const problems = problemsOf(gaps, EXCUSED);

console.log('never taken');
for (const gap of gaps) {
  const excuse = EXCUSED.find((one) => isOf(gap, one));
  if (excuse) console.log(`  lib/core/${gap.file}.ts:${gap.line}  ${gap.text}  -- ${excuse.why}`);
}
console.log('taken most seldom, with the number of schedules');
const seldom = blocks.filter(({ hits }) => hits > 0).sort((left, right) => left.hits - right.hits);
for (const { file, line, text, hits } of seldom.slice(0, SELDOM))
  console.log(`  ${String(hits).padStart(6)}  lib/core/${file}.ts:${line}  ${text}`);
for (const problem of problems) console.log(problem);
const seconds = ((performance.now() - began) / 1000).toFixed(1);
console.log(
  `branches: ${gaps.length} not taken in ${schedules} schedules, ${problems.length} problems, ${seconds} s`,
);
if (problems.length > 0)
  console.log(
    'A branch that is taken seldom may need a fault of its own in faults.ts; one that only a bug could take, an excuse in excused.ts.',
  );
process.exitCode = problems.length === 0 ? 0 : 1;
