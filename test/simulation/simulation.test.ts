import { expect, test } from 'vitest';
import { runSeeds } from './crew.ts';
import { FAULT_KINDS } from './faults.ts';
import { add, noTotals, rareKinds } from './report.ts';
import { schedule } from './schedule.ts';

/** As many of 10,000 schedules as fit into this time; `npm run sim` runs them all. Less in `npm run test:fast`. */
const SECONDS = Number(process.env['EDOW_SIM_SECONDS'] ?? 60);
const SCHEDULES = 10_000;
/** Fewer would be no proof: the machine is too slow or the simulation is broken. */
const LEAST_SCHEDULES = SECONDS;

test(
  'no schedule breaks an invariant',
  async () => {
    const totals = noTotals();
    await runSeeds({ from: 0, to: SCHEDULES, seconds: SECONDS }, (lines) => {
      for (const line of lines) add(totals, line);
    });
    console.log(`simulation: ${totals.schedules} schedules, ${totals.failed.length} broken`);
    expect(totals.failed.map(({ seed, broken }) => `seed ${seed}: ${broken[0]}`)).toEqual([]);
    expect(totals.schedules).toBeGreaterThanOrEqual(LEAST_SCHEDULES);
    expect(rareKinds(totals)).toEqual([]);
    expect(totals.tooCalm).toBe(0);
    expect([...totals.ends.keys()]).toEqual(
      expect.arrayContaining(['run succeeded', 'run succeeded after a resume', 'run failed', 'task done']),
    );
  },
  (SECONDS + 60) * 1000,
);

async function story(seed: number, without: ReadonlySet<string> = new Set()): Promise<string[]> {
  const lines: string[] = [];
  await schedule(seed, {
    without,
    trace: (time, actor, text) => void lines.push(`${time} ${actor} ${text}`),
  });
  return lines;
}

test('a seed tells the same story each time, another seed another one', async () => {
  const first = await story(7);
  expect(first.length).toBeGreaterThan(50);
  expect(await story(7)).toEqual(first);
  expect(await story(8)).not.toEqual(first);
});

test('without faults each run ends at once: succeeded, or failed where its choice says so', async () => {
  const none = new Set<string>(FAULT_KINDS);
  for (let seed = 0; seed < 20; seed += 1) {
    const { broken, ends, faults } = await schedule(seed, { without: none });
    expect(broken).toEqual([]);
    expect(faults.size).toBe(0);
    expect(ends.filter((end) => !['run succeeded', 'run failed', 'task done'].includes(end))).toEqual([]);
  }
});
