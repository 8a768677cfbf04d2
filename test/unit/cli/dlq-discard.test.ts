import { describe, expect, test } from 'vitest';
import { asStep, type StepItem, stepItemKey } from '#core/items.ts';
import type { Item } from '#core/store.ts';
import { aDeadStep, seed } from '#test/examples.ts';
import { CALLER, fakeConnection, RUN } from './fake-connection.ts';
import { commandBody, fakeQueues, letter } from './fake-letters.ts';

const at = (stepKey: string, more: Partial<StepItem> = {}): StepItem =>
  aDeadStep({ ...stepItemKey(RUN, stepKey), runId: RUN, stepKey, ...more });

async function given(crashAt?: number) {
  const letters = [
    letter(commandBody(RUN, 'Dead'), { messageId: 'm-dead' }),
    letter(commandBody(RUN, 'Done'), { messageId: 'm-done' }),
    letter('{no json', { messageId: 'm-bad' }),
    letter(commandBody(RUN, 'Gone'), { messageId: 'm-gone' }),
  ];
  const queues = fakeQueues({ shipping: letters }, crashAt === undefined ? {} : { crashAt });
  const cloud = fakeConnection({ queues });
  await seed(cloud.store, at('Dead'), at('Done', { status: 'done' }));
  const step = async (key: string) => {
    const item = await cloud.store.get(stepItemKey(RUN, key));
    return item && asStep(item as Item);
  };
  cloud.connection.lookUp = (_, key) => step(key);
  const discard = (...flags: string[]) => cloud.edow(['dlq', 'discard', ...flags]);
  const audit = async () => JSON.parse((await cloud.edow(['audit', '--json'])).out).entries;
  return { ...cloud, queues, discard, step, audit, left: () => queues.left('shipping') };
}

describe('dlq discard', () => {
  test('notes who and why on the task, then deletes; the task stays what it is', async () => {
    const { discard, step, left, audit } = await given();
    const { exitCode, out } = await discard('--reason', 'ordered twice', '--task', `${RUN}/Dead/0`, '--yes');
    expect(exitCode).toBe(0);
    expect(left()).toEqual(['m-done', 'm-bad', 'm-gone']);
    expect(await step('Dead')).toMatchObject({
      status: 'dead',
      reason: 'exhausted',
      discarded: { who: CALLER, why: 'ordered twice', messageId: 'm-dead' },
    });
    expect(out).toContain('1 dead letter thrown away, 3 left.');
    expect(out).toContain(`Dead tasks that are without a letter: ${RUN}/Dead/0`);
    expect(out).toContain('npx edow task resolve RUN/STEP/0 --done RESULT | --retry | --fail');
    expect(await audit()).toMatchObject([
      {
        who: CALLER,
        action: 'dlq discard',
        outcome: 'done',
        arguments: { reason: 'ordered twice', task: `${RUN}/Dead/0` },
        counts: { discarded: 1, left: 3 },
      },
    ]);
  });

  test('left-over copies, unreadable ones by reason or message id: no word of a dead task', async () => {
    const { discard, left, step } = await given();
    const over = await discard('--because', 'left over', '--reason', 'copies', '--yes');
    expect(over.out).not.toContain('task resolve');
    expect(left()).toEqual(['m-dead', 'm-bad', 'm-gone']);
    expect((await step('Done'))?.discarded?.why).toBe('copies');
    await discard('--message', 'm-bad', '--reason', 'noise', '--yes');
    await discard('--because', 'not on record', '--reason', 'old', '--yes');
    expect(left()).toEqual(['m-dead']);
  });

  test('takes a letter of no task from the index, after it is gone from its queue', async () => {
    const { discard, views, connection } = await given();
    const row = (messageId: string) =>
      ({
        kind: 'message',
        messageId,
        pool: 'shipping',
        reason: 'unreadable',
        bytes: 8,
        hash: 'h',
        firstAt: 1,
        lastAt: 1,
        expiresAt: 2_000_000_000,
      }) as const;
    for (const id of ['m-bad', 'm-gone', 'm-other']) await views.putDead(row(id));
    const { remove } = connection.letters;
    connection.letters.remove = async (url, gone) => {
      if (gone.messageId === 'm-gone') throw new Error('cut short');
      expect(await views.deadMessage(gone.messageId)).toEqual(
        gone.messageId === 'm-bad' ? row('m-bad') : undefined,
      );
      await remove(url, gone);
    };
    expect((await discard('--reason', 'noise', '--yes')).exitCode).toBe(1);
    const open = ['m-bad', 'm-gone', 'm-other'].map((id) => views.deadMessage(id));
    expect(await Promise.all(open)).toEqual([undefined, row('m-gone'), row('m-other')]);
    await views.putDead(row('m-bad'));
    expect(await views.deadMessage('m-bad')).toBeUndefined();
  });

  test('a dry run shows, and changes nothing', async () => {
    const { discard, left, audit, step, queues } = await given();
    const { out } = await discard('--reason', 'x', '--dry-run', '--json');
    expect(JSON.parse(out)).toMatchObject({
      dryRun: true,
      complete: true,
      left: 0,
      discarded: [
        { messageId: 'm-dead', reason: 'exhausted', isDead: true },
        { messageId: 'm-done', reason: 'left over: done', isDead: false },
        { messageId: 'm-bad', reason: 'unreadable', isDead: false },
        { messageId: 'm-gone', reason: 'not on record', isDead: false },
      ],
    });
    expect([left().length, queues.hidden.size, await audit()]).toEqual([4, 0, []]);
    expect((await step('Dead'))?.discarded).toBeUndefined();
  });

  test('asks first, and takes nothing but yes', async () => {
    const { edow, left } = await given();
    const asked = await edow(['dlq', 'discard', '--reason', 'x'], { typed: true, stdin: 'n\n' });
    expect(asked.exitCode).toBe(2);
    expect(asked.err).toContain('Throw 4 dead letters away for good? [y/N]');
    expect(left()).toHaveLength(4);
    const yes = await edow(['dlq', 'discard', '--reason', 'x'], { typed: true, stdin: 'y\n' });
    expect([yes.exitCode, left()]).toEqual([0, []]);
  });

  test('no letter that came after the look is thrown away with the others', async () => {
    const { connection, discard, left } = await given();
    const { remove } = connection.letters;
    let removed = 0;
    connection.letters.remove = async (...args) => {
      removed += 1;
      await remove(...args);
    };
    await discard('--limit', '2', '--reason', 'x', '--yes');
    expect([removed, left()]).toEqual([2, ['m-bad', 'm-gone']]);
  });

  test('what was shown is thrown away and nothing else, in whatever order the queue hands out', async () => {
    const { connection, discard, left } = await given();
    const { receive } = connection.letters;
    connection.letters.receive = async (...args) => {
      const batch = [...(await receive(...args))];
      // The second look sees them the other way round.
      connection.letters.receive = async (...more) => [...(await receive(...more))].reverse();
      return batch;
    };
    const { out } = await discard('--limit', '2', '--reason', 'x', '--yes');
    expect(left()).toEqual(['m-bad', 'm-gone']);
    expect(out).toContain('2 dead letters thrown away');
  });

  test('nothing that matches: nobody is asked, nothing is on record', async () => {
    const { discard, audit } = await given();
    const { exitCode, out } = await discard('--pool', 'project', '--reason', 'x');
    expect([exitCode, out]).toEqual([0, '0 dead letters thrown away, 0 left.\n']);
    expect(await audit()).toEqual([]);
  });

  test('cut short: what is gone was noted, and is counted', async () => {
    const { discard, audit, left, step } = await given(2);
    expect((await discard('--reason', 'x', '--yes')).exitCode).toBe(1);
    expect(left()).toEqual(['m-done', 'm-bad', 'm-gone']);
    expect((await step('Dead'))?.discarded?.messageId).toBe('m-dead');
    expect(await audit()).toMatchObject([{ outcome: 'failed', counts: { discarded: 1 } }]);
  });

  test.each([[[]], [['--reason', '  ']], [['--reason', 'x'.repeat(301)]]])(
    '%j: why is needed',
    async (flags) => {
      expect((await (await given()).discard(...flags)).exitCode).toBe(2);
    },
  );
});
