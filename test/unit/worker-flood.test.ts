import { expect, test } from 'vitest';
import { asStep, stepItemKey } from '#core/items.ts';
import { seenFilter } from '#core/seen-filter.ts';
import type { Store } from '#core/store.ts';
import { aCommand, aDoneStep, aStep, seed } from '#test/examples.ts';
import { unreliableStore } from '#test/unreliable-store.ts';
import { ACK, workBench } from '#test/work-bench.ts';

/** Counts calls by name. */
const counting = (counts: Record<string, number>) => (memory: Store) =>
  unreliableStore(memory, {
    before: ({ name }) => {
      counts[name] = (counts[name] ?? 0) + 1;
      return undefined;
    },
  });

test('copies of a task that this process has finished cost a read each and no write', async () => {
  const counts: Record<string, number> = {};
  const bench = await workBench({ step: aStep(), store: counting(counts) });
  expect(await bench.deliver()).toEqual(ACK);
  expect(counts).toEqual({ update: 2 });
  for (let copy = 0; copy < 100; copy += 1)
    expect(await bench.deliver({ messageId: `copy-${copy}` })).toEqual(ACK);
  expect(counts).toEqual({ update: 2, get: 100 });
  expect(bench.calls).toHaveLength(1);
});

test('a process that has not seen the task pays one refused write, then reads too', async () => {
  const counts: Record<string, number> = {};
  const done = await workBench({ step: aStep() });
  await done.deliver();
  const bench = await workBench({ step: await done.now(), store: counting(counts) });
  expect(await bench.deliver()).toEqual(ACK);
  expect(counts).toEqual({ update: 1 });
  expect(await bench.deliver()).toEqual(ACK);
  expect(counts).toEqual({ update: 1, get: 1 });
});

/** `npm run bench:worker` sends 10,000. */
const MESSAGES = 500;

test('a flood of finished messages: a refused write each when they are met first, and none after that', async () => {
  const counts: Record<string, number> = {};
  const bench = await workBench({ store: counting(counts) });
  const flood = async (): Promise<void> => {
    for (let n = 0; n < MESSAGES; n += 1) {
      const runid = `01K8ZZ000000000000${String(n).padStart(8, '0')}`;
      const command = { ...aCommand(), id: `${runid}/Reserve/0`, runid };
      expect(await bench.deliver({ command })).toEqual(ACK);
    }
  };
  for (let n = 0; n < MESSAGES; n += 1) {
    const runId = `01K8ZZ000000000000${String(n).padStart(8, '0')}`;
    await seed(bench.memory, asStep({ ...aDoneStep({ runId }), ...stepItemKey(runId, 'Reserve') } as never));
  }
  await flood();
  const { update = 0, get = 0 } = counts;
  expect(update + get).toBe(MESSAGES);
  // Taken for seen though they were not: at most one in a thousand, and a read is all that it costs.
  expect(get).toBeLessThanOrEqual(2);
  await flood();
  expect(counts).toEqual({ update, get: get + MESSAGES });
});

test('the filter weighs 79 kB, however many it has seen: 4 bytes for each of the 20,000 that it knows', () => {
  const filter = seenFilter();
  expect(filter.bytes).toBe(79_102);
  for (let n = 0; n < 50_000; n += 1) filter.add(`task-${n}`);
  expect(filter.bytes).toBe(79_102);
});
