/** What a task costs in the modes that are not the default, over metered ports in memory: each number is a budget. */
import { expect, test } from 'vitest';
import { PermanentError } from '#core/errors.ts';
import type { Store } from '#core/store.ts';
import type { TableWrite } from '#core/table-write.ts';
import { aStep, reserve } from '#test/examples.ts';
import { type Metered, meteredStore, newMeter } from '#test/metered.ts';
import { orderedBench } from '#test/ordered-bench.ts';
import { ACK, BURN, workBench } from '#test/work-bench.ts';

const shown = ({ calls, readUnits, writeUnits }: Metered) => ({
  calls: Object.fromEntries([...calls].map(([name, count]) => [name.replace('DynamoDB.', ''), count])),
  readUnits,
  writeUnits,
});

/** Since the last look. */
function reading(meter: Metered): ReturnType<typeof shown> {
  const now = shown(meter);
  meter.calls.clear();
  Object.assign(meter, newMeter(), { calls: meter.calls });
  return now;
}

test('a transactional task: its commit is one transaction, of two units for each write', async () => {
  const meter = newMeter();
  const writes: TableWrite[] = [
    { Update: { TableName: 'accounts', Key: { account: 'a', entry: 0 }, UpdateExpression: 'ADD #n :one' } },
    { Put: { TableName: 'accounts', Item: { account: 'a', entry: 1 } } },
  ];
  const bench = await workBench({
    step: aStep(),
    contract: { ...reserve, expose: [], mode: 'transactional' },
    handler: async () => ({ output: { reservationId: 'r-1' }, writes }),
    others: { refusal: () => undefined, apply: () => {} },
    store: (memory) => meteredStore(memory, meter),
  });
  expect(await bench.deliver()).toEqual(ACK);
  expect(shown(meter)).toEqual({
    calls: { UpdateItem: 1, TransactWriteItems: 1 },
    readUnits: 0,
    writeUnits: 1 + 3 * 2,
  });
});

test('an ordered task: a look at its line first; a death and its place in line are one transaction', async () => {
  const meter = newMeter();
  const store = (memory: Store): Store => meteredStore(memory, meter);
  const bench = await orderedBench({ store });
  await bench.enter('A', 'B', 'C');
  expect(await bench.deliver('A')).toEqual(ACK);
  expect(reading(meter)).toEqual({ calls: { GetItem: 1, UpdateItem: 2 }, readUnits: 1, writeUnits: 2 });

  bench.failing.set('B', () => new PermanentError('no'));
  expect(await bench.deliver('B')).toEqual(BURN);
  // Its own item, with its failure over 1 KB, and the line.
  expect(reading(meter)).toEqual({
    calls: { GetItem: 2, UpdateItem: 1, TransactWriteItems: 1 },
    readUnits: 2,
    writeUnits: 1 + 2 * 2 + 2,
  });

  // Behind it: the line, its head, its own item, the line once more; then its own item, the line, the one before it.
  expect(await bench.deliver('C')).toEqual(BURN);
  expect(reading(meter)).toEqual({
    calls: { GetItem: 4, TransactWriteItems: 1 },
    readUnits: 4,
    writeUnits: 2 * 2 + 2 + 2 * 2,
  });
});
