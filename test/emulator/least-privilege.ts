/**
 * `npm run test:iam`: takes each action that a function's role allows away in turn, by the IAM API, and drives the whole
 * path. An action is needed when the function is denied a call or the path stops; what nobody misses must be explained
 * (explained-grants.ts) or taken out of the code. Explained actions are taken away all at once. With names
 * (`dispatch collect`) only those functions. A grant that nobody needs is planted first: the check must tell it.
 * On a local cloud of its own, or as test/emulator/global-setup.ts says. It takes minutes: `npm test` has a part of it
 * (iam.test.ts), the whole path with all grants and nobody denied a call, three grants that are missed and one that is not.
 */
import { deployed } from '#test/cloud/deployed.ts';
import { enter } from '#test/cloud/enter.ts';
import { environmentCloud } from '#test/cloud/environment-cloud.ts';
import { eachAction, type Grant, grantsOf, isPlanted, nameOf, plantNeedless } from '#test/cloud/grants.ts';
import { denials } from '#test/cloud/log-lines.ts';
import { STEPS } from '#test/cloud/orders.ts';
import { ownCloud } from '#test/cloud/own-cloud.ts';
import { type Pace, wholePath } from '#test/cloud/whole-path.ts';
import { type Drive, missedWithout } from '#test/cloud/without-grants.ts';
import { EXPLAINED, type Explained } from './explained-grants.ts';

const only = process.argv.slice(2);
/** While nothing is missing: the first pass is cold. */
const PATIENT: Pace = { withinMs: 120_000 };

const covers = ({ stage, actions }: Explained, grant: Grant): boolean =>
  grant.actions.every((action) => actions.includes(action)) &&
  (stage === '*' || [stage].flat().includes(grant.stage));
const isExplained = (grant: Grant): boolean => EXPLAINED.some((one) => covers(one, grant));
const secondsSince = (begun: number): string => `${((Date.now() - begun) / 1000).toFixed(1)} s`;

/** The parts of the whole path, each timed once it is warm. */
async function timedParts(system: ReturnType<typeof deployed>) {
  const path = wholePath(system);
  // A worker whose task fails has to hide its message: the poisoned one of shipping does so anyway.
  const flaky = STEPS.flatMap(({ step, pool }) => (pool === 'shipping' ? [] : [step]));
  const parts = { order: (pace: Pace) => path.order(pace, flaky), payout: path.payout, sweep: path.sweep };
  const drives = {
    ...parts,
    both: async (pace: Pace) => {
      await parts.order(pace);
      await parts.payout(pace);
    },
    all: async (pace: Pace) => {
      for (const part of Object.values(parts)) await part(pace);
    },
  };
  let longest = 0;
  for (const [name, part] of Object.entries(parts)) {
    await part(PATIENT);
    const begun = Date.now();
    await part(PATIENT);
    console.log(`${name} goes through in ${secondsSince(begun)}`);
    longest = Math.max(longest, Date.now() - begun);
  }
  /** What the function has to do with. */
  const driveFor = (stage: string): Drive => {
    if (stage === 'sweep') return drives.sweep;
    if (stage === 'worker-ledger') return drives.payout;
    return stage.startsWith('worker-') ? drives.order : drives.both;
  };
  // No single wait is longer than a whole part.
  return { all: drives.all, driveFor, withinMs: longest + 2_000 };
}

async function check(system: ReturnType<typeof deployed>): Promise<boolean> {
  const since = Date.now();
  const { all, driveFor, withinMs } = await timedParts(system);
  for (const stage of Object.keys(system.functions))
    if ((await denials(system, stage, since)).length > 0)
      throw new Error(`${stage} lacks a grant: it was denied a call`);
  const before = await grantsOf(system);
  const uproot = await plantNeedless(system, before.find(({ stage }) => stage === 'trigger')?.role ?? '');
  const unneeded: Grant[] = [];
  const needless: Grant[] = [];
  const wanted = (await grantsOf(system))
    .filter((grant) => isPlanted(grant) || only.length === 0 || only.includes(grant.stage))
    .flatMap(eachAction);
  const [explained, others] = [wanted.filter(isExplained), wanted.filter((grant) => !isExplained(grant))];
  console.log(`${wanted.length} actions of ${new Set(wanted.map(({ stage }) => stage)).size} functions`);

  async function judge(grant: Grant): Promise<void> {
    const begun = Date.now();
    const missed = await missedWithout(system, [grant], driveFor(grant.stage), withinMs);
    const verdict = missed ? 'needed  ' : isExplained(grant) ? 'explained' : 'UNNEEDED';
    if (missed && isExplained(grant)) needless.push(grant);
    if (!missed && !isExplained(grant)) unneeded.push(grant);
    console.log(
      `${verdict} ${nameOf(grant)} (${[secondsSince(begun), missed?.why.slice(0, 90)].join(' ').trim()})`,
    );
  }

  try {
    const begun = Date.now();
    const missed = await missedWithout(system, explained, all, 3 * withinMs);
    const why = missed?.why ?? 'all goes through';
    console.log(`without the ${explained.length} explained ones: ${why} (${secondsSince(begun)})`);
    const suspects = explained.filter(({ stage }) => !missed?.denied.length || missed.denied.includes(stage));
    if (missed) for (const grant of suspects) await judge(grant);
    for (const grant of others) await judge(grant);
  } finally {
    await uproot();
  }
  // Nothing was left out by mistake: with every grant back, all goes through.
  await all(PATIENT);
  if (JSON.stringify(await grantsOf(system)) !== JSON.stringify(before))
    throw new Error('the policies are not as they were');

  const planted = unneeded.filter(isPlanted);
  const unexplained = unneeded.filter((grant) => !isPlanted(grant));
  const gone = EXPLAINED.filter((one) => only.length === 0 && !wanted.some((grant) => covers(one, grant)));
  const sums = [others.length - unneeded.length, explained.length - needless.length, unexplained.length];
  console.log(`${sums[0]} needed, ${sums[1]} explained, ${sums[2]} to be taken out or explained`);
  for (const grant of unexplained) console.log(`to be taken out or explained: ${nameOf(grant)}`);
  for (const grant of needless) console.log(`explained, and needed after all: ${nameOf(grant)}`);
  for (const { stage, actions } of gone) console.log(`explained, and nobody has it: ${stage} ${actions}`);
  if (planted.length !== 1) console.log('the planted grant was not told: this check finds nothing');
  return planted.length === 1 && unexplained.length + needless.length + gone.length === 0;
}

async function main(): Promise<number> {
  const begun = Date.now();
  const own = process.env['EDOW_TEST_CLOUD'] !== 'environment';
  const cloud = own ? await ownCloud((line) => console.log(`  ${line}`)) : undefined;
  try {
    const target = cloud?.target ?? (await environmentCloud());
    enter(target);
    const isClean = await check(deployed(target));
    console.log(`all of it took ${secondsSince(begun)}`);
    return isClean ? 0 : 1;
  } finally {
    await cloud?.stop();
  }
}

process.exitCode = await main();
