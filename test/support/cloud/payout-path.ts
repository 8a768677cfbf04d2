/** A payout that dies at the bank, is replayed too early, dies again, and is sent in the end. */
import { taskIdOf } from '#core/items.ts';
import { api } from './api.ts';
import type { Deployed } from './deployed.ts';
import { freshId } from './orders.ts';
import { ownBooks } from './own-books.ts';
import { accountBooks, aPayout } from './payouts.ts';
import { queue } from './queue.ts';
import { stubBooks } from './stub-books.ts';
import { until } from './until.ts';
import type { Pace } from './whole-path.ts';

const STEP = 'SendPayout';

export function payoutPath(system: Deployed) {
  const http = api(system);
  const books = ownBooks(system);
  const stub = stubBooks(system);
  const ledger = system.queues['ledger'];
  const work = queue(system, ledger?.queueUrl ?? '');
  const dead = queue(system, ledger?.dlqUrl ?? '');

  return async (pace: Pace): Promise<void> => {
    const payout = aPayout(freshId('account'));
    await stub.plan(STEP, payout.payoutId, { fails: -1, kind: 'permanent' });
    const { status, body } = await http.start('payout', freshId('key'), payout);
    if (status !== 202) throw new Error(`the API answered ${status} to a payout`);
    const task = taskIdOf(body.id, STEP);

    /** Replays the letter of the task, as our own tool does. */
    const replay = async (count: number): Promise<void> => {
      const letter = await dead.received(({ Body }) => Body?.includes(`"${task}"`) ?? false, pace);
      await dead.remove(letter);
      await work.send(letter.Body ?? '', count, letter.Attributes?.MessageGroupId);
    };
    // Its first death parks its key; at its second it is the first in line already, which is checked only.
    await books.runIs(body.id, 'held', pace);
    await replay(1);
    await until(
      'the task has died again',
      async () => ((await books.partition(body.id)).step(STEP).deaths === 2 ? true : undefined),
      pace,
    );
    await stub.mend(STEP, payout.payoutId);
    await replay(2);
    await books.runIs(body.id, 'succeeded', pace);
    const { payouts } = await accountBooks(system, payout.account);
    if (payouts.join() !== payout.payoutId) throw new Error('the payout is not in the books of its account');
  };
}
