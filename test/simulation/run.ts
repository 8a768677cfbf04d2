/**
 * Fault simulation: `npm run sim -- [flags]`
 *   --schedules N     seeds 0 to N-1; default 10,000
 *   --seeds FROM..TO  both included
 *   --seed N          one schedule; with --trace its story, shortened; with --trace --full all of it
 *   --without a,b     kinds of fault left out (of one schedule)
 *   --threads N       default 2
 *   --seconds N       begins no schedule after so many seconds
 *   --first           runs no seed above the lowest that fails
 *   --progress        a line each 5 seconds: how many, how fast, and when it will be over
 *   --keep FILE       for campaigns of hours: keeps what 2,000 seeds each add up to in a small file, and goes on
 *                     after them when it is started again; a file of other code, or of another first seed, is removed
 *                     by hand. --seconds and --first are looked at between two parts
 * A million: npm run sim -- --schedules 1000000 --progress --keep million.json
 * Exit code 1 when an invariant breaks, a kind of fault is too rare, or the flags are wrong.
 */
import { parseArgs } from 'node:util';
import { runSeeds } from './crew.ts';
import { readKept, writeKept } from './keep.ts';
import { add, failures, histograms, noTotals, rareKinds } from './report.ts';
import { schedule } from './schedule.ts';
import { needless, traceOf } from './shrink.ts';

const { values } = parseArgs({
  options: {
    schedules: { type: 'string' },
    seeds: { type: 'string' },
    seed: { type: 'string' },
    trace: { type: 'boolean' },
    full: { type: 'boolean' },
    without: { type: 'string' },
    threads: { type: 'string' },
    seconds: { type: 'string' },
    first: { type: 'boolean' },
    progress: { type: 'boolean' },
    keep: { type: 'string' },
  },
});

const DEFAULT_SCHEDULES = 10_000;
const PROGRESS_MS = 5000;
/** Seeds between two writes of the file that is kept. */
const PART = 2000;

function whole(flag: string, text: string, least: number): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least) return value;
  process.stderr.write(`sim: --${flag} is ${text}; allowed: a whole number from ${least}\n`);
  process.exit(1);
}

function seedsAsked(): { from: number; to: number } {
  if (values.seeds !== undefined) {
    const [from = '', to = ''] = values.seeds.split('..');
    return { from: whole('seeds', from, 0), to: whole('seeds', to, 0) + 1 };
  }
  return {
    from: 0,
    to: values.schedules === undefined ? DEFAULT_SCHEDULES : whole('schedules', values.schedules, 1),
  };
}

async function one(seed: number): Promise<number> {
  const asked = new Set((values.without ?? '').split(',').filter(Boolean));
  const outcome = await schedule(seed, { without: asked });
  if (values.trace) {
    const without = outcome.broken.length > 0 && !values.full ? await needless(outcome) : asked;
    if (without.size > 0) console.log(`without: ${[...without].join(', ')}`);
    for (const line of await traceOf(seed, without, values.full ?? false)) console.log(line);
  }
  console.log(
    `seed ${seed}: ${outcome.broken.length === 0 ? 'all invariants hold' : outcome.broken.join('; ')}`,
  );
  return outcome.broken.length === 0 ? 0 : 1;
}

/** `1:05:00` from seconds. */
const clockText = (seconds: number): string =>
  [seconds / 3600, (seconds / 60) % 60, seconds % 60]
    .map((part) => String(Math.floor(part)).padStart(2, '0'))
    .join(':');

async function many(): Promise<number> {
  const { from, to } = seedsAsked();
  const { keep } = values;
  const kept = keep === undefined ? { next: from, totals: noTotals() } : readKept(keep, from);
  const { totals } = kept;
  const before = totals.schedules;
  const started = performance.now();
  const seconds = (): number => (performance.now() - started) / 1000;
  const timer = setInterval(() => {
    if (!values.progress) return;
    const rate = (totals.schedules - before) / seconds();
    const left = rate > 0 ? clockText((to - from - totals.schedules) / rate) : 'unknown';
    console.log(
      `${totals.schedules} of ${to - from} schedules, ${totals.failed.length} failed, ${rate.toFixed(1)} a second, ${left} left`,
    );
  }, PROGRESS_MS);
  const threads = whole('threads', values.threads ?? '2', 1);
  const longest =
    values.seconds === undefined ? Number.POSITIVE_INFINITY : whole('seconds', values.seconds, 1);
  const untilFailure = values.first ?? false;
  for (let next = kept.next; next < to; ) {
    if (seconds() > longest || (untilFailure && totals.failed.length > 0)) break;
    const end = keep === undefined ? to : Math.min(to, next + PART);
    const limit = keep === undefined ? { seconds: longest, untilFailure } : {};
    await runSeeds({ from: next, to: end, threads, ...limit }, (lines) => {
      for (const line of lines) add(totals, line);
    });
    next = end;
    if (keep !== undefined) writeKept(keep, { from, next, totals });
  }
  clearInterval(timer);
  for (const line of histograms(totals)) console.log(line);
  const rare = rareKinds(totals);
  if (rare.length > 0) console.log(`kinds of fault in less than 1 % of the schedules: ${rare.join(', ')}`);
  if (totals.tooCalm > 0) console.log(`schedules with fewer than three kinds of fault: ${totals.tooCalm}`);
  const first = totals.failed.toSorted((left, right) => left.seed - right.seed)[0];
  if (first) {
    console.log('broken invariants');
    for (const line of failures(totals)) console.log(line);
    console.log(`first: seed ${first.seed}: ${first.broken[0]}`);
    console.log(`replay: npm run sim -- --seed ${first.seed} --trace`);
  }
  console.log(
    `sim: ${totals.schedules} schedules of seeds ${from}..${to - 1}, ${totals.failed.length} broken, ${totals.eventsLost} events lost by the local cloud's stream, ${seconds().toFixed(1)} s`,
  );
  return totals.failed.length + rare.length + totals.tooCalm > 0 ? 1 : 0;
}

process.exitCode = await (values.seed === undefined ? many() : one(whole('seed', values.seed, 0)));
