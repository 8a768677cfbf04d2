/** Order per key on the deployed system: accounts whose payouts wait, die, are replayed, and are decided by a person. */
import { UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { Message } from '@aws-sdk/client-sqs';
import { describe, expect, test } from 'vitest';
import { taskIdOf } from '#core/items.ts';
import { LEASE_GRACE_MS } from '#core/retry.ts';
import { edow } from '#test/cloud/edow.ts';
import { freshId } from '#test/cloud/orders.ts';
import { accountBooks, aPayout } from '#test/cloud/payouts.ts';
import { suite } from '#test/cloud/suite.ts';
import { until } from '#test/cloud/until.ts';

const { system, books, stub, queues, started } = suite();
const paid = (payout: object): Promise<string> => started(payout, freshId('key'), 'payout');
const once = { calls: 1, effects: 1, taken: 1 };

/** Waits until the messages of these runs are dead letters. */
const lettersOf = (runs: readonly string[]) =>
  until('the messages are dead letters', async () => {
    const { result } = await edow('dlq', 'peek', '--pool', 'ledger');
    const found = new Set(result.entries.map((entry: { run?: string }) => entry.run));
    return runs.every((run) => found.has(run)) ? true : undefined;
  });

/** The grace after a death is over: a copy that is sent from now on was not on its way. */
const diedLongAgo = async (runId: string, step: string): Promise<void> => {
  const { PK, SK, deadAt = 0 } = (await books.partition(runId)).step(step);
  await system.dynamo.send(
    new UpdateItemCommand({
      TableName: system.stateTable,
      Key: { PK: { S: PK }, SK: { S: SK } },
      UpdateExpression: 'SET deadAt = :at',
      ExpressionAttributeValues: { ':at': { N: String(deadAt - 2 * LEASE_GRACE_MS) } },
    }),
  );
};

/** What killed the task of a step. */
const deathOf = async (runId: string, step: string) => {
  const { status, reason } = (await books.partition(runId)).step(step);
  return [status, reason];
};

describe('payouts of an account', () => {
  test('that wait in a line are booked in the order of their commands, each once; two accounts side by side', async () => {
    const [a, b] = [freshId('account'), freshId('account')];
    const payouts = [a, b, a, a, b, a].map((account, index) => aPayout(account, 100 + index));
    await edow('pool', 'pause', 'ledger');
    const runs: string[] = [];
    for (const payout of payouts) {
      runs.push(await paid(payout));
      // The next command is sent when this one lies in the queue: the order of the commands is that of the runs.
      await until('its command waits', async () =>
        (await queues('ledger').work.total()) === runs.length ? true : undefined,
      );
    }
    await edow('pool', 'resume', 'ledger');
    for (const run of runs) await books.runIs(run, 'succeeded');
    for (const account of [a, b]) {
      const own = payouts.filter((payout) => payout.account === account);
      expect(await accountBooks(system, account)).toEqual({
        lastEntry: own.length,
        balanceCents: -own.reduce((sum, { amountCents }) => sum + amountCents, 0),
        numbers: own.map((_, index) => index + 1),
        payouts: own.map(({ payoutId }) => payoutId),
      });
    }
    for (const run of runs) expect(await stub.booked(run, 'SendPayout')).toEqual(once);
    await queues('ledger').work.empty();
  });

  test('behind a dead one die as key_parked, other accounts flow; one replay heals all of them, in order', async () => {
    const [account, other] = [freshId('account'), freshId('account')];
    const payouts = [aPayout(account), aPayout(account), aPayout(account)] as const;
    await stub.plan('SendPayout', payouts[0].payoutId, { fails: -1, kind: 'permanent' });
    const runs: string[] = [];
    for (const payout of payouts) {
      const run = await paid(payout);
      runs.push(run);
      await books.runIs(run, 'held');
    }
    const [first = '', second = '', third = ''] = runs;
    expect(await deathOf(first, 'SendPayout')).toEqual(['dead', 'permanent']);
    expect(await deathOf(second, 'DebitAccount')).toEqual(['dead', 'key_parked']);
    expect(await deathOf(third, 'DebitAccount')).toEqual(['dead', 'key_parked']);
    await books.runIs(await paid(aPayout(other)), 'succeeded');
    expect((await accountBooks(system, account)).payouts).toEqual([payouts[0].payoutId]);

    await lettersOf(runs);
    await stub.mend('SendPayout', payouts[0].payoutId);
    const replay = await edow('dlq', 'replay', '--pool', 'ledger');
    expect(replay.exitCode, replay.said).toBe(0);
    expect(replay.result.stopped).toBeUndefined();
    expect(replay.result.sent.map(({ run }: { run: string }) => run)).toEqual(runs);
    for (const run of runs) await books.runIs(run, 'succeeded');
    expect(await accountBooks(system, account)).toMatchObject({
      numbers: [1, 2, 3],
      payouts: payouts.map(({ payoutId }) => payoutId),
    });
    expect(await stub.booked(first, 'SendPayout')).toEqual({ calls: 2, effects: 1, taken: 1 });
    for (const run of [second, third]) expect(await stub.booked(run, 'SendPayout')).toEqual(once);
  });

  test('whose bank did not answer are never sent again without a word; with it the line goes on', async () => {
    const account = freshId('account');
    const payout = aPayout(account);
    await stub.plan('SendPayout', payout.payoutId, { fails: 1, kind: 'error' });
    const run = await paid(payout);
    await books.runIs(run, 'held');
    expect(await deathOf(run, 'SendPayout')).toEqual(['dead', 'unknown']);
    await lettersOf([run]);
    // Neither our replay nor a copy as AWS's move task leaves it is a new chance.
    const replay = await edow('dlq', 'replay', '--run', run);
    expect(replay.result).toMatchObject({ sent: [], undecided: 1 });
    const { work, dead } = queues('ledger');
    const isOfRun = ({ Body }: Message): boolean => Body?.includes(run) ?? false;
    const letter = await dead.received(isOfRun);
    await dead.remove(letter);
    await diedLongAgo(run, 'SendPayout');
    const moved = await work.send(letter.Body ?? '', undefined, letter.Attributes?.MessageGroupId);
    const again = await dead.received(isOfRun);
    expect([again.MessageId, again.Body]).toEqual([moved, letter.Body]);
    expect(await deathOf(run, 'SendPayout')).toEqual(['dead', 'unknown']);
    expect(await stub.booked(run, 'SendPayout')).toEqual({ calls: 1, effects: 0, taken: 0 });

    const word = await edow(
      'task',
      'resolve',
      taskIdOf(run, 'SendPayout'),
      '--done',
      '{"transferId":"t-1"}',
      '--reason',
      'found in the books of the bank',
    );
    expect(word.exitCode, word.said).toBe(0);
    await books.runIs(run, 'succeeded');
    expect(await stub.booked(run, 'SendPayout')).toEqual({ calls: 1, effects: 0, taken: 0 });
    const next = aPayout(account);
    await books.runIs(await paid(next), 'succeeded');
    expect((await accountBooks(system, account)).payouts).toEqual([payout.payoutId, next.payoutId]);
  });

  test('that would overdraw it are refused: the run fails, nothing is booked, and the account goes on', async () => {
    const account = freshId('account');
    const run = await paid(aPayout(account, 1_000_001));
    await books.runIs(run, 'failed');
    expect((await accountBooks(system, account)).numbers).toEqual([]);
    const good = aPayout(account);
    await books.runIs(await paid(good), 'succeeded');
    expect(await accountBooks(system, account)).toEqual({
      lastEntry: 1,
      balanceCents: -good.amountCents,
      numbers: [1],
      payouts: [good.payoutId],
    });
  });
});
