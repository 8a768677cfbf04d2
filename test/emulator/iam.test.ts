/** Least privilege, shown on three grants that are missed and on one that is not. All of them: `npm run test:iam`. */
import { expect, test } from 'vitest';
import { feedOf } from '#test/cloud/feeds.ts';
import { type Grant, grantsOf, isPlanted, plantNeedless, without } from '#test/cloud/grants.ts';
import { denials } from '#test/cloud/log-lines.ts';
import { anOrder } from '#test/cloud/orders.ts';
import { suite } from '#test/cloud/suite.ts';
import { until } from '#test/cloud/until.ts';
import { wholePath } from '#test/cloud/whole-path.ts';
import { missedWithout } from '#test/cloud/without-grants.ts';

const { system, books, queues, started } = suite();
const path = wholePath(system);
const grants = await grantsOf(system);

const grantOf = (stage: string, action: string, resource = ''): Grant => {
  const found = grants.find(
    ({ stage: whose, actions, arns }) =>
      whose === stage && actions.includes(action) && arns.join().includes(resource),
  );
  if (!found) throw new Error(`${stage} has no grant of ${action}`);
  return found;
};

/** Of one wait; cold functions on a busy machine take their time. */
const withinMs = 60_000;

test('with all grants the whole path goes through', { timeout: 300_000 }, async () => {
  const since = Date.now();
  for (const part of [path.order, path.payout, path.sweep]) await part({ withinMs });
  const stages = Object.keys(system.functions);
  expect(stages.length).toBeGreaterThan(10);
  // Whoever is denied a call and goes on all the same lacks a grant, too.
  for (const stage of stages) expect(await denials(system, stage, since), stage).toEqual([]);
});

test.each([
  ['dispatch', 'sns:Publish', ''],
  ['worker-inventory', 'dynamodb:UpdateItem', 'State'],
  ['collect', 'states:SendTaskSuccess', ''],
])('without %s %s a call is denied', async (stage, action, resource) => {
  const missed = await missedWithout(system, [grantOf(stage, action, resource)], path.order, withinMs);
  expect(missed?.denied).toEqual([stage]);
});

test('a grant that nobody needs is not missed', async () => {
  const { role } = grantOf('trigger', 'dynamodb:PutItem');
  const uproot = await plantNeedless(system, role);
  try {
    const planted = (await grantsOf(system)).filter(isPlanted);
    expect(planted).toHaveLength(1);
    expect(await missedWithout(system, planted, path.order, withinMs)).toBeUndefined();
  } finally {
    await uproot();
  }
});

test('what collect may not answer is set aside by its key, and answered once it may', async () => {
  const retry = queues('collect-retry').work;
  const again = await feedOf(system, 'collect', ':sqs:');
  await again(false);
  const before = await retry.total(); // of the test before, whose answers are tried again
  try {
    const runId = await without(system, [grantOf('collect', 'states:SendTaskSuccess')], async () => {
      const id = await started(anOrder('aside'));
      await until('its key waits', async () => ((await retry.total()) > before ? true : undefined));
      return id;
    });
    expect((await books.partition(runId)).step('ReserveStock')).toMatchObject({ status: 'done' });
    expect((await books.run(runId))?.status).toBe('running');
    await again(true);
    await books.runIs(runId, 'succeeded');
    await until('its key is gone', async () => ((await retry.total()) <= before ? true : undefined));
  } finally {
    await again(true);
  }
});

test('with the grants put back it goes through again', async () => {
  expect(await grantsOf(system)).toEqual(grants);
  await path.order({ withinMs });
});
