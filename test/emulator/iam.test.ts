/** Least privilege, shown on three grants: without one the whole path stops, with it it goes through again. */
import { expect, test } from 'vitest';
import { feedOf } from '#test/cloud/feeds.ts';
import { type Grant, grantsOf, without } from '#test/cloud/grants.ts';
import { anOrder } from '#test/cloud/orders.ts';
import { suite } from '#test/cloud/suite.ts';
import { until } from '#test/cloud/until.ts';
import { wholePath } from '#test/cloud/whole-path.ts';

const { system, books, queues, started } = suite();
const path = wholePath(system);
const grants = await grantsOf(system);

const grantOf = (stage: string, action: string, resource = ''): Grant => {
  const found = grants.find(
    (grant) => grant.stage === stage && grant.actions.includes(action) && grant.resources.includes(resource),
  );
  if (!found) throw new Error(`${stage} has no grant of ${action}`);
  return found;
};

let tookMs = 0;

test('with all grants the whole path goes through', async () => {
  await path.order({ withinMs: 60_000 }); // cold functions
  const begun = Date.now();
  await path.order({ withinMs: 60_000 });
  tookMs = Date.now() - begun;
});

test.each([
  ['dispatch', 'sns:Publish', ''],
  ['worker-inventory', 'dynamodb:UpdateItem', 'State'],
  ['collect', 'states:SendTaskSuccess', ''],
])('without %s %s it stops', async (stage, action, resource) => {
  // Twice what the whole path took is more than any one wait of it.
  const stopped = await without(system, grantOf(stage, action, resource), () =>
    path.order({ withinMs: 2 * tookMs + 1_000 }).then(
      () => 'went through',
      (error: Error) => error.message,
    ),
  );
  expect(stopped).toMatch(/is held: not within/);
});

test('what collect may not answer is set aside by its key, and answered once it may', async () => {
  const retry = queues('collect-retry').work;
  const again = await feedOf(system, 'collect', ':sqs:');
  await again(false);
  const before = await retry.total(); // of the test before, whose answers are tried again
  try {
    const runId = await without(system, grantOf('collect', 'states:SendTaskSuccess'), async () => {
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
  await path.order({ withinMs: 60_000 });
});
