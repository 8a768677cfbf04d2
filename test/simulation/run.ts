/**
 * Fault simulation: `npm run sim -- [flags]`
 *   --schedules N     seeds 0 to N-1; default 10,000
 *   --seeds FROM..TO  both included
 *   --seed N          one schedule; with --trace its story, shortened; with --trace --full all of it
 *   --without a,b     kinds of fault left out (of one schedule)
 *   --threads N       default 2
 *   --seconds N       begins no schedule after so many seconds
 *   --first           runs no seed above the lowest that fails
 *   --progress        a line each 5 seconds
 * Exit code 1 when an invariant breaks, a kind of fault is too rare, or the flags are wrong.
 */
import { parseArgs } from 'node:util';
import { runSeeds } from './crew.ts';
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
  },
});

const DEFAULT_SCHEDULES = 10_000;
const PROGRESS_MS = 5000;

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

async function many(): Promise<number> {
  const seeds = seedsAsked();
  const totals = noTotals();
  const started = performance.now();
  const seconds = (): number => (performance.now() - started) / 1000;
  const timer = setInterval(() => {
    if (values.progress)
      console.log(
        `${totals.schedules} of ${seeds.to - seeds.from} schedules, ${totals.failed.length} failed, ${seconds().toFixed(0)} s`,
      );
  }, PROGRESS_MS);
  const campaign = {
    ...seeds,
    threads: whole('threads', values.threads ?? '2', 1),
    untilFailure: values.first ?? false,
    ...(values.seconds !== undefined && { seconds: whole('seconds', values.seconds, 1) }),
  };
  await runSeeds(campaign, (lines) => {
    for (const line of lines) add(totals, line);
  });
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
    `sim: ${totals.schedules} schedules, seeds ${seeds.from}..${seeds.to - 1}, ${totals.failed.length} broken, ${totals.eventsLost} events lost by the local cloud's stream, ${seconds().toFixed(1)} s`,
  );
  return totals.failed.length + rare.length + totals.tooCalm > 0 ? 1 : 0;
}

process.exitCode = await (values.seed === undefined ? many() : one(whole('seed', values.seed, 0)));
