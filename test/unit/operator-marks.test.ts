import { expect, test } from 'vitest';
import { dataDigest, hasOtherData } from '#core/claim.ts';
import { asStep } from '#core/items.ts';
import { discardedByPersonOf, editedByPersonOf } from '#core/operator-marks.ts';
import type { Item } from '#core/store.ts';
import { aCommand, aDeadStep, aDoneStep, FIRST, seed, T0 } from '#test/examples.ts';
import { memoryStore } from '#test/memory/store.ts';

const by = { who: 'arn:ada', at: T0 };

test('an edit is noted on the death that was looked at, with a bounded list of places', async () => {
  const store = memoryStore();
  const dead = aDeadStep();
  await seed(store, dead);
  const places = Array.from({ length: 50 }, (_, n) => `/p/${n}`);
  const edit = editedByPersonOf(dead, { ...by, digest: 'd', places });
  const write = await store.update(edit);
  expect(write.written).toBe(true);
  expect(asStep(write.item as Item).edited).toEqual({ ...by, digest: 'd', places: places.slice(0, 20) });
  for (const other of [{ status: 'claimed' }, { fence: 4 }, { seq: 2 }] as const) {
    await seed(store, aDeadStep(other));
    expect((await store.update(edit)).written).toBe(false);
  }
});

test('an edited copy is no foreign one; other data under the same id still is', () => {
  const original = aCommand();
  const edited = aCommand({ data: { orderId: 'o-2' } });
  const other = aCommand({ data: { orderId: 'o-3' } });
  const dead = aDeadStep({ met: new Set([`${FIRST}.0`]), digest: dataDigest(original) });
  expect([original, edited, other].map((copy) => hasOtherData(dead, copy))).toEqual([false, true, true]);
  const noted = { ...dead, edited: { ...by, digest: dataDigest(edited), places: [] } };
  expect([original, edited, other].map((copy) => hasOtherData(noted, copy))).toEqual([false, false, true]);
});

test('a discard is noted on whatever the task has become, and makes no task', async () => {
  const store = memoryStore();
  const discard = { ...by, why: 'twice', messageId: 'm-1' };
  await seed(store, aDoneStep());
  const write = await store.update(discardedByPersonOf(aDeadStep(), discard));
  expect(asStep(write.item as Item)).toMatchObject({ status: 'done', discarded: discard });
  const empty = memoryStore();
  expect((await empty.update(discardedByPersonOf(aDeadStep(), discard))).written).toBe(false);
  expect(empty.items()).toEqual([]);
});
