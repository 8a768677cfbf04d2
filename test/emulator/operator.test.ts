/** An operator's day: poison, a canary that stops, the fix, the rest replayed, and whatever no replay heals. */
import { describe, expect, test } from 'vitest';
import { taskIdOf } from '#core/items.ts';
import { edow } from '#test/cloud/edow.ts';
import { anOrder } from '#test/cloud/orders.ts';
import { suite } from '#test/cloud/suite.ts';
import { until } from '#test/cloud/until.ts';

const { books, stub, queues, started } = suite();
const BEGUN = Date.now();
/** Letters of other tests are none of ours. */
const since = (): string => `${Math.ceil((Date.now() - BEGUN) / 1000)}s`;
const task = (runId: string): string => taskIdOf(runId, 'ShipOrder');

/** Orders whose parcels the shipper refuses, held, with their letters in the dead-letter queue. */
async function poisoned(...names: string[]) {
  const orders = names.map((name) => anOrder(`operator-${name}`));
  for (const { orderId } of orders) await stub.plan('ShipOrder', orderId, { fails: -1, kind: 'permanent' });
  const runs: string[] = [];
  // One after the other: functions that start cold four at a time run into their time-outs on a busy machine.
  for (const order of orders) {
    const run = await started(order);
    await books.runIs(run, 'held');
    runs.push(run);
  }
  await lettersOf(runs);
  return {
    runs: runs as [string, string, string, string],
    mend: async () => {
      for (const { orderId } of orders) await stub.mend('ShipOrder', orderId);
    },
  };
}

/** Waits until SQS has moved the messages of all these runs to the dead letters. */
const lettersOf = (runs: readonly string[]) =>
  until('the messages are dead letters', async () => {
    const { result } = await edow('dlq', 'peek', '--pool', 'shipping');
    const found = new Set(result.entries.map((entry: { run?: string }) => entry.run));
    return runs.every((run) => found.has(run)) ? true : undefined;
  });

describe('an operator', () => {
  test('replays behind a canary, discards, decides by hand, and all of it is on record', async () => {
    const { runs, mend } = await poisoned('first', 'second', 'discarded', 'refused');
    const [first, second, discarded, refused] = runs;

    // Not mended yet: one is risked, the others stay.
    const hasty = await edow('dlq', 'replay', '--since', since(), '--canary', '1', '--wait', '60s');
    expect(hasty.exitCode).toBe(3);
    expect(hasty.result.sent).toHaveLength(1);
    expect(hasty.result.stopped).toMatch(/^1 of the first 1 died again: \S+ \(PermanentError\)$/);
    const risked: string = hasty.result.sent[0].run;
    expect((await books.partition(risked)).step('ShipOrder')).toMatchObject({ status: 'dead', deaths: 2 });
    await lettersOf(runs);
    const letter = await edow('dlq', 'peek', '--pool', 'shipping');
    const again = letter.result.entries.find((entry: { run: string }) => entry.run === risked);
    expect(again.replays).toBe(1);

    // Thrown away: its run cannot be replayed any more, a person's word heals it.
    const gone = await edow('dlq', 'discard', '--run', discarded, '--reason', 'shipped by hand', '--yes');
    expect(gone.result.discarded).toMatchObject([{ task: task(discarded), isDead: true }]);
    expect((await books.partition(discarded)).step('ShipOrder')).toMatchObject({
      status: 'dead',
      discarded: { why: 'shipped by hand', who: expect.stringMatching(/^arn:aws/) },
    });
    const word = await edow('task', 'resolve', task(discarded), '--done', '{"shipmentId":"by-hand"}');
    expect([word.exitCode, word.result.as]).toEqual([0, 'done']);
    await books.runIs(discarded, 'succeeded');
    expect(await stub.booked(discarded, 'ShipOrder')).toEqual({ calls: 1, effects: 0, taken: 0 });
    expect((await books.partition(discarded)).step('NotifyCustomer').status).toBe('done');
    await until('its event was told', async () =>
      (await books.timeline(discarded)).includes('shipping.parcel.shipped') ? true : undefined,
    );

    // Refused for good: the run ends, its letter is a left-over copy.
    expect((await edow('task', 'resolve', task(refused), '--fail', '--reason', 'fraud')).exitCode).toBe(0);
    const ended = await books.runIs(refused, 'failed');
    expect(ended.cause).toEqual({ execution: 'FAILED', error: 'RefusedByPerson', message: 'fraud' });
    expect((await books.partition(refused)).step('ShipOrder').status).toBe('cancelled');
    await edow(
      'dlq',
      'discard',
      '--because',
      'left over',
      '--since',
      since(),
      '--reason',
      'refused',
      '--yes',
    );

    // Mended: the canary is done, the rest follows and heals.
    await mend();
    const { exitCode, result } = await edow('dlq', 'replay', '--since', since(), '--canary', '1');
    expect(exitCode).toBe(0);
    expect(result.stopped).toBeUndefined();
    expect(result.sent.map(({ run }: { run: string }) => run).toSorted()).toEqual([first, second].toSorted());
    for (const run of [first, second]) {
      await books.runIs(run, 'succeeded');
      expect(await stub.booked(run, 'ShipOrder')).toMatchObject({ effects: 1, taken: 1 });
      expect((await books.partition(run)).step('ShipOrder').replay).toBe(run === risked ? 2 : 1);
    }
    await queues('shipping').work.empty();

    const trail = (await edow('audit', '--since', since())).result.entries;
    expect(
      trail.map(({ action, outcome, counts }: Record<string, unknown>) => [action, outcome, counts]),
    ).toMatchObject([
      ['dlq replay', 'stopped', { sent: 1, diedAgain: 1 }],
      ['dlq discard', 'done', { discarded: 1 }],
      ['task resolve', 'done', {}],
      ['task resolve', 'done', {}],
      ['dlq discard', 'done', { discarded: 1 }],
      ['dlq replay', 'done', { sent: 2 }],
    ]);
    for (const { who } of trail) expect(who).toMatch(/^arn:aws/);
  });

  test('tries a task again without its letter, and pauses a pool meanwhile', async () => {
    const { runs, mend } = await poisoned('retried');
    const [run] = runs;
    await mend();
    await edow('dlq', 'discard', '--run', run, '--reason', 'not needed', '--yes');
    const drained = await edow('pool', 'drain', 'shipping');
    expect(drained.result).toMatchObject({ finished: true, state: 'Disabled', inFlight: 0 });
    expect((await edow('task', 'resolve', task(run), '--retry')).exitCode).toBe(0);
    await until('the command waits', async () =>
      (await queues('shipping').work.depth()).waiting === 1 ? true : undefined,
    );
    expect((await books.partition(run)).step('ShipOrder').status).toBe('retrying');
    expect((await edow('pool', 'resume', 'shipping')).result).toMatchObject({ state: 'Enabled' });
    await books.runIs(run, 'succeeded');
    expect(await stub.booked(run, 'ShipOrder')).toEqual({ calls: 2, effects: 1, taken: 1 });
    const trail = (await edow('audit', '--since', since())).result.entries;
    expect(trail.slice(-4).map(({ action }: { action: string }) => action)).toEqual([
      'dlq discard',
      'pool drain',
      'task resolve',
      'pool resume',
    ]);
  });
});
