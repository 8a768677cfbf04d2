/** Least privilege, shown on three grants: without one the whole path stops, with it it goes through again. */
import { expect, test } from 'vitest';
import { type Grant, grantsOf, without } from '#test/cloud/grants.ts';
import { suite } from '#test/cloud/suite.ts';
import { wholePath } from '#test/cloud/whole-path.ts';

const { system } = suite();
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

test('with the grants put back it goes through again', async () => {
  expect(await grantsOf(system)).toEqual(grants);
  await path.order({ withinMs: 60_000 });
});
