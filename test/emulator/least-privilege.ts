/**
 * `npm run test:iam`: takes each Allow statement of each function's role away in turn, by the IAM API, and drives the
 * whole path; what still goes through without a statement is listed, and must be explained (explained-grants.ts) or
 * taken out of the code. With `--actions` each action of a statement on its own; with names (`dispatch collect`) only
 * those functions. On a local cloud of its own, or as test/emulator/global-setup.ts says; about ten minutes on two cores.
 */

import { deployed } from '#test/cloud/deployed.ts';
import { enter } from '#test/cloud/enter.ts';
import { environmentCloud } from '#test/cloud/environment-cloud.ts';
import { eachAction, type Grant, grantsOf, without } from '#test/cloud/grants.ts';
import { STEPS } from '#test/cloud/orders.ts';
import { ownCloud } from '#test/cloud/own-cloud.ts';
import { wholePath } from '#test/cloud/whole-path.ts';
import { EXPLAINED } from './explained-grants.ts';

const flags = process.argv.slice(2);
const only = flags.filter((flag) => !flag.startsWith('--'));

const isExplained = (grant: Grant): boolean =>
  grant.actions.every((action) =>
    EXPLAINED.some(
      ({ stage, actions }) =>
        actions.includes(action) && (stage === '*' || [stage].flat().includes(grant.stage)),
    ),
  );
const nameOf = ({ stage, actions, resources }: Grant): string =>
  `${stage} ${actions.join(', ')} on ${resources}`.slice(0, 200);

async function main(): Promise<number> {
  const own = process.env['EDOW_TEST_CLOUD'] !== 'environment';
  const cloud = own ? await ownCloud((line) => console.log(`  ${line}`)) : undefined;
  try {
    const target = cloud?.target ?? (await environmentCloud());
    enter(target);
    const system = deployed(target);
    const path = wholePath(system);
    // A worker whose task fails has to hide its message: the poisoned one of shipping does so anyway.
    const flaky = STEPS.flatMap(({ step, pool }) => (pool === 'shipping' ? [] : [step]));
    const drive = (stage: string, withinMs: number) =>
      stage === 'sweep' ? path.sweep({ withinMs }) : path.order({ withinMs }, flaky);

    const took = new Map<boolean, number>();
    for (const stage of ['dispatch', 'sweep']) {
      await drive(stage, 60_000); // cold
      const begun = Date.now();
      await drive(stage, 60_000);
      took.set(stage === 'sweep', Date.now() - begun);
    }
    const all = await grantsOf(system);
    const wanted = all
      .filter(({ stage }) => only.length === 0 || only.includes(stage))
      .flatMap((grant) => (flags.includes('--actions') ? eachAction(grant) : [grant]));
    console.log(`${wanted.length} grants of ${new Set(wanted.map(({ stage }) => stage)).size} functions`);

    const unneeded: Grant[] = [];
    for (const grant of wanted) {
      const withinMs = 2 * (took.get(grant.stage === 'sweep') ?? 10_000) + 2_000;
      const begun = Date.now();
      const tried = (patience: number) =>
        without(system, grant, () =>
          drive(grant.stage, patience).then(
            () => undefined,
            (error: Error) => error.message,
          ),
        );
      let end = await tried(withinMs);
      // What should go through and did not may have been slow only.
      if (end !== undefined && isExplained(grant)) end = await tried(4 * withinMs);
      if (end === undefined) unneeded.push(grant);
      const verdict = end === undefined ? (isExplained(grant) ? 'explained' : 'UNNEEDED ') : 'needed   ';
      const seconds = ((Date.now() - begun) / 1000).toFixed(1);
      console.log(
        `${verdict} ${nameOf(grant)}  (${seconds} s${end === undefined ? '' : `: ${end.slice(0, 90)}`})`,
      );
    }
    // Nothing was left out by mistake: with every grant back, all goes through.
    for (const stage of ['dispatch', 'sweep']) await drive(stage, 60_000);
    const after = await grantsOf(system);
    if (JSON.stringify(after) !== JSON.stringify(all)) throw new Error('the policies are not as they were');

    const unexplained = unneeded.filter((grant) => !isExplained(grant));
    const needless = wanted.filter((grant) => isExplained(grant) && !unneeded.includes(grant));
    console.log(
      `${wanted.length - unneeded.length} needed, ${unneeded.length - unexplained.length} explained, ${unexplained.length} to be taken out or explained`,
    );
    for (const grant of unexplained) console.log(`to be taken out or explained: ${nameOf(grant)}`);
    for (const grant of needless) console.log(`explained, and needed after all: ${nameOf(grant)}`);
    return wanted.length > 0 && unexplained.length === 0 && needless.length === 0 ? 0 : 1;
  } finally {
    await cloud?.stop();
  }
}

process.exitCode = await main();
