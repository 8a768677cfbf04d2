import { expect, test } from 'vitest';
import type { Store } from '#core/store.ts';
import { aStep } from '#test/examples.ts';
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
