import { describe, expect, test } from 'vitest';
import { verdictOn } from '#core/claim.ts';
import type { Command } from '#core/envelope.ts';
import { PortUnavailable } from '#core/errors.ts';
import { type Attempt, asStep, type StepItem, stepItemKey } from '#core/items.ts';
import { parkKey } from '#core/parking.ts';
import type { DeadLetterPeek } from '#core/ports.ts';
import { retryByPersonOf } from '#core/resolve.ts';
import { all, type Store, to } from '#core/store.ts';
import { letterSweeper } from '#core/sweep-letters.ts';
import {
  aClaim,
  aCommand,
  aDeadStep,
  aDoneStep,
  aStep,
  FIRST,
  MINUTE,
  RUN_ID,
  SECOND,
  seed,
  T0,
} from '#test/examples.ts';
import { manualClock } from '#test/memory/determinate.ts';
import { memoryLog } from '#test/memory/log.ts';
import { memoryDeadLetters } from '#test/memory/queues.ts';
import { memoryStore } from '#test/memory/store.ts';
import { memoryViews } from '#test/memory/views.ts';

const AT = T0 + 20 * MINUTE;

async function scene(
  steps: readonly StepItem[],
  ports: { store?: Partial<Store>; letters?: Partial<DeadLetterPeek> } = {},
) {
  const clock = manualClock(AT);
  const memory = memoryStore();
  await seed(memory, ...steps);
  const views = memoryViews();
  const letters = memoryDeadLetters(clock, ['inventory', 'payment']);
  const log = memoryLog();
  const swept = { ...letters, ...ports.letters };
  const { sweepLetters } = letterSweeper({
    store: { ...memory, ...ports.store },
    views,
    letters: swept,
    clock,
  });
  return {
    clock,
    swept,
    memory,
    views,
    letters,
    log,
    sweep: (until = AT + MINUTE) => sweepLetters(log, until),
    bury: (body: unknown = aCommand(), sentAt = T0) =>
      letters.add('inventory', typeof body === 'string' ? body : JSON.stringify(body), sentAt),
    step: async () => asStep((await memory.get(stepItemKey(RUN_ID, 'Reserve'))) ?? ({} as never)),
  };
}

const CLAIMED: Partial<StepItem> = { status: 'claimed', fence: 1, tries: 1, started: 1, owner: 'o' };

describe('a message that died without our code', () => {
  test.each<[string, Partial<StepItem>]>([
    ['that nobody ever met', {}],
    ['that waits for its next try', { status: 'retrying', fence: 1, tries: 1, notBefore: AT - 3 * MINUTE }],
    ['whose worker was lost', { ...CLAIMED, leaseUntil: AT - 3 * MINUTE }],
  ])('ends the task %s, with that on record', async (_what, changes) => {
    const { sweep, bury, step, log } = await scene([aStep(changes)]);
    const messageId = bury();
    expect(await sweep()).toEqual({ died: 1, strange: 0 });
    const dead = await step();
    expect(dead).toMatchObject({
      status: 'dead',
      reason: 'starved',
      failure: { class: 'retryable', name: 'MessageDied', fingerprint: 'message-died' },
      deadAt: AT,
      deadMessageId: messageId,
      outcomeExecution: FIRST,
      outbox: { type: 'edow.task.failed' },
    });
    expect(log.lines.filter(({ level }) => level === 'error').map(({ message }) => message)).toEqual([
      'task died with its message',
    ]);
    // The letter, sent back as AWS does it: another id, a new send time, the same body.
    const moved = aClaim({ messageId: 'moved', sentAt: AT + 16 * SECOND, now: AT + 17 * SECOND });
    expect(verdictOn(dead, moved).act).toBe('revive');
    expect(verdictOn(dead, { ...moved, messageId }).act).toBe('burn');
  });

  test.each<[string, Partial<StepItem>]>([
    ['was entered a minute ago', { entered: AT - MINUTE }],
    ['waits for a later try', { status: 'retrying', notBefore: AT + MINUTE }],
    [
      'failed a minute ago',
      {
        status: 'retrying',
        attempts: [
          {
            fence: 1,
            startedAt: AT - 2 * MINUTE,
            endedAt: AT - MINUTE,
            class: 'retryable',
            name: 'E',
            message: '',
            worker: 'v1',
          },
        ],
      },
    ],
    ['is in the hands of a worker', { ...CLAIMED, leaseUntil: AT + MINUTE }],
    ['has a claim without an end', CLAIMED],
  ])('leaves a task alone that %s: another copy may be on its way', async (_what, changes) => {
    const { sweep, bury, step } = await scene([aStep(changes)]);
    bury();
    const before = await step();
    expect(await sweep()).toEqual({ died: 0, strange: 0 });
    expect(await step()).toEqual(before);
  });

  test.each<[string, string | undefined, number]>([
    ['that its task died with', undefined, T0],
    ['that is another copy from before', 'another', T0],
  ])('%s is no loss while a person lets the task be tried again', async (_what, deadMessageId, sentAt) => {
    const { sweep, bury, step, memory, clock } = await scene([]);
    const messageId = bury(aCommand(), sentAt);
    const dead = aDeadStep({ deadMessageId: deadMessageId ?? messageId });
    await seed(memory, dead);
    const by = { how: 'retry', who: 'somebody', at: AT } as const;
    await memory.update(retryByPersonOf(dead, by));
    expect(await sweep()).toEqual({ died: 0, strange: 0 });
    expect(await step()).toMatchObject({ status: 'retrying', resolvedBy: by });
    // Nor is it forgotten should that one be lost, or never have been sent.
    clock.pass((await step()).deadline - AT);
    expect(await sweep(clock.now())).toMatchObject({ died: 1 });
    expect(await step()).toMatchObject({ status: 'dead', reason: 'starved', deadMessageId: messageId });
  });

  test('of the new round is a loss all the same', async () => {
    const { sweep, bury, step, memory } = await scene([]);
    const dead = aDeadStep();
    await seed(memory, dead);
    const by = { how: 'retry', who: 'somebody', at: T0 + 2 * MINUTE } as const;
    await memory.update(retryByPersonOf(dead, by));
    bury(aCommand(), T0 + 2 * MINUTE);
    expect(await sweep()).toEqual({ died: 1, strange: 0 });
    expect(await step()).toMatchObject({ status: 'dead', reason: 'starved', deaths: 2 });
  });

  test('is asked about again until the task has been quiet for two minutes', async () => {
    const { sweep, bury, step, clock } = await scene([aStep({ entered: AT - MINUTE })]);
    bury();
    await sweep();
    clock.pass(MINUTE);
    expect(await sweep(clock.now())).toMatchObject({ died: 1 });
    expect(await step()).toMatchObject({ status: 'dead' });
  });

  test.each<[string, Partial<Command>]>([
    ['of an older execution', { execution: FIRST - 1 }],
    ['of an older entry', { entry: 0 }],
  ])('%s says nothing about the present one', async (_what, changes) => {
    const { sweep, bury, step } = await scene([aStep({ entry: 1 })]);
    bury(aCommand({ entry: 1, ...changes }));
    expect(await sweep()).toMatchObject({ died: 0 });
    expect(await step()).toMatchObject({ status: 'ready' });
  });

  test.each([
    ['is dead already', aDeadStep()],
    ['is done', aDoneStep()],
  ])('changes nothing on a task that %s, and is looked up once', async (_what, item) => {
    let reads = 0;
    const { sweep, bury, step, memory, views } = await scene([item], {
      store: {
        get: (key) => {
          reads += 1;
          return memory.get(key);
        },
      },
    });
    bury();
    await sweep();
    await sweep();
    expect(reads).toBe(1);
    expect(await step()).toEqual(item);
    expect((await views.listDead({ shard: 0, limit: 100 })).rows).toEqual([]);
  });

  test('a claim of a task that is tried once only ends as unknown: a person decides', async () => {
    const { sweep, bury, step } = await scene([
      aStep({ ...CLAIMED, atMostOnce: true, leaseUntil: AT - 3 * MINUTE }),
    ]);
    bury();
    expect(await sweep()).toEqual({ died: 1, strange: 0 });
    expect(await step()).toMatchObject({ status: 'dead', reason: 'unknown' });
  });

  test('in an ordered pool the death parks its key', async () => {
    const { sweep, bury, step, memory } = await scene([aStep()]);
    bury(aCommand({ partitionkey: 'k1' }));
    expect(await sweep()).toEqual({ died: 1, strange: 0 });
    expect(await step()).toMatchObject({ status: 'dead', parkedAt: 'PARK#inventory#k1' });
    expect(await memory.get(parkKey('inventory', 'k1'))).toMatchObject({ head: `${RUN_ID}/Reserve/0` });
  });

  test('a task that went on between the look and the write is left alone', async () => {
    const { sweep, bury, step } = await scene([aStep()], {
      store: { update: async () => ({ written: false, item: undefined }) },
    });
    bury();
    expect(await sweep()).toEqual({ died: 0, strange: 0 });
    expect(await step()).toMatchObject({ status: 'ready' });
  });
});

describe('a message of no task', () => {
  test('that nothing can read has a row, without its content', async () => {
    const { sweep, bury, views, log } = await scene([]);
    const messageId = bury('SECRET ä', T0 - MINUTE);
    expect(await sweep()).toEqual({ died: 0, strange: 1 });
    const expected = {
      kind: 'message',
      messageId,
      pool: 'inventory',
      reason: 'unreadable',
      problem: 'the body is not JSON',
      bytes: 9,
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      firstAt: T0 - MINUTE,
      lastAt: AT,
      expiresAt: (T0 - MINUTE) / 1000 + 14 * 86_400,
    };
    expect(await views.deadMessage(messageId)).toEqual(expected);
    expect(JSON.stringify([await views.deadMessage(messageId), log.lines])).not.toContain('SECRET');
    expect(await sweep()).toEqual({ died: 0, strange: 0 });
  });

  test('whose task is not on record has one too', async () => {
    const { sweep, bury, views } = await scene([]);
    const messageId = bury();
    await sweep();
    expect(await views.deadMessage(messageId)).toMatchObject({ reason: 'not on record' });
    expect(await views.deadMessage(messageId)).not.toHaveProperty('problem');
  });
});

describe('the look', () => {
  const strange = { died: 0, strange: 1 };

  test('lets every letter be seen again, also when its judgement fails, and tells of each', async () => {
    const { sweep, bury, letters, log } = await scene([], {
      store: {
        get: async () => {
          throw new PortUnavailable('throttled');
        },
      },
    });
    const ids = [bury(), bury()];
    expect(await sweep()).toEqual({ died: 0, strange: 0 });
    expect(await letters.peek('inventory', 10)).toHaveLength(2);
    expect(log.lines).toMatchObject(
      ids.map((messageId) => ({ level: 'error', fields: { pool: 'inventory', messageId } })),
    );
  });

  test('goes on past a letter whose judgement fails, and comes back to it', async () => {
    let isDown = true;
    const { sweep, bury, views } = await scene([], {
      store: {
        get: async ({ SK }) => {
          if (isDown && SK === 'STEP#Reserve') throw new Error('of this one only');
          return undefined;
        },
      },
    });
    const stubborn = bury();
    const other = bury('x');
    expect(await sweep()).toEqual(strange);
    expect(await views.deadMessage(other)).toMatchObject({ reason: 'unreadable' });
    isDown = false;
    expect(await sweep()).toEqual(strange);
    expect(await views.deadMessage(stubborn)).toMatchObject({ reason: 'not on record' });
  });

  test('leaves those alone that follow in the ordering key of one whose judgement failed', async () => {
    const steps = ['Reserve', 'Charge', 'Ship'].map((stepKey) =>
      aStep({ ...stepItemKey(RUN_ID, stepKey), stepKey }),
    );
    let fails = 1;
    const { sweep, bury, memory } = await scene(steps, {
      store: {
        transact: async (...writes) => {
          fails -= 1;
          if (fails >= 0) throw new Error('of this one only');
          return memory.transact(...writes);
        },
      },
    });
    const of = (step: string, partitionkey: string) =>
      bury(aCommand({ step, id: `${RUN_ID}/${step}/0`, partitionkey }));
    of('Reserve', 'k1');
    of('Charge', 'k1');
    of('Ship', 'k2');
    expect(await sweep()).toEqual({ died: 1, strange: 0 });
    expect(await memory.get(parkKey('inventory', 'k2'))).toMatchObject({ head: `${RUN_ID}/Ship/0` });
    expect(await sweep()).toEqual({ died: 2, strange: 0 });
    expect(await memory.get(parkKey('inventory', 'k1'))).toMatchObject({
      head: `${RUN_ID}/Reserve/0`,
      last: `${RUN_ID}/Charge/0`,
    });
  });

  test('leaves those alone that follow in the ordering key of one that may yet go on', async () => {
    const failed: Attempt = {
      ...{ fence: 1, startedAt: AT - 2 * MINUTE, endedAt: AT - MINUTE },
      ...{ class: 'retryable', name: 'E', message: '', worker: 'v1' },
    };
    const [first, second] = [
      aStep({ status: 'retrying', fence: 1, tries: 1, attempts: [failed] }),
      aStep({ ...stepItemKey(RUN_ID, 'Charge'), stepKey: 'Charge' }),
    ];
    const { sweep, bury, memory, clock } = await scene([first, second]);
    for (const { stepKey } of [first, second])
      bury(aCommand({ step: stepKey, id: `${RUN_ID}/${stepKey}/0`, partitionkey: 'k1' }));
    expect(await sweep()).toEqual({ died: 0, strange: 0 });
    clock.pass(MINUTE);
    expect(await sweep()).toEqual({ died: 2, strange: 0 });
    expect(await memory.get(parkKey('inventory', 'k1'))).toMatchObject({
      head: `${RUN_ID}/Reserve/0`,
      last: `${RUN_ID}/Charge/0`,
    });
  });

  test('does not keep those waiting that follow one which a person lets be tried again: it has its place', async () => {
    const dead = aDeadStep({
      deadAt: AT - 10 * MINUTE,
      deadline: AT + 10 * MINUTE,
      parkedAt: 'PARK#inventory#k1',
    });
    const second = aStep({ ...stepItemKey(RUN_ID, 'Charge'), stepKey: 'Charge' });
    const { sweep, bury, memory } = await scene([dead, second]);
    const key = parkKey('inventory', 'k1');
    await memory.update({
      key,
      when: all(),
      changes: { head: to(`${RUN_ID}/Reserve/0`), last: to(`${RUN_ID}/Reserve/0`) },
    });
    await memory.update(retryByPersonOf(dead, { how: 'retry', who: 'ada', at: AT - 5 * MINUTE }));
    for (const { stepKey } of [dead, second])
      bury(aCommand({ step: stepKey, id: `${RUN_ID}/${stepKey}/0`, partitionkey: 'k1' }));
    expect(await sweep()).toEqual({ died: 1, strange: 0 });
    expect(await memory.get(key)).toMatchObject({ head: `${RUN_ID}/Reserve/0`, last: `${RUN_ID}/Charge/0` });
  });

  test('finds a fresh letter behind hundreds that have their reason, and shows these to others at once', async () => {
    const { sweep, bury, letters, views } = await scene([]);
    for (let round = 0; round < 6; round += 1) {
      for (let letter = 0; letter < 50; letter += 1) bury(`x${round}`);
      expect(await sweep()).toEqual({ died: 0, strange: 50 });
    }
    const fresh = bury('y');
    expect(await sweep()).toEqual(strange);
    expect(await views.deadMessage(fresh)).toMatchObject({ reason: 'unreadable' });
    expect(await letters.peek('inventory', 1000)).toHaveLength(301);
  });

  test('ends: of more than 500 known ones, the rest is for the next minutes', async () => {
    const { sweep, bury } = await scene([]);
    for (let round = 0; round < 11; round += 1) {
      for (let letter = 0; letter < 50; letter += 1) bury('x');
      await sweep();
    }
    bury('y');
    expect(await sweep()).toEqual({ died: 0, strange: 0 });
  });

  test('shows known letters to others also when the next look fails', async () => {
    const given = await scene([]);
    for (let letter = 0; letter < 50; letter += 1) given.bury('x');
    await given.sweep();
    const { peek } = given.letters;
    let looks = 0;
    const failing: DeadLetterPeek['peek'] = async (pool, limit) => {
      if (pool === 'inventory') looks += 1;
      if (looks > 1) throw new PortUnavailable('throttled');
      return peek(pool, limit);
    };
    Object.assign(given.swept, { peek: failing });
    expect(await given.sweep()).toEqual({ died: 0, strange: 0 });
    expect(looks).toBe(2);
    expect(await peek('inventory', 100)).toHaveLength(50);
  });

  test('looks at no pool and judges no letter when the time is over', async () => {
    const { sweep, bury, clock, swept, letters } = await scene([]);
    bury('x');
    expect(await sweep(AT - 1)).toEqual({ died: 0, strange: 0 });
    Object.assign(swept, {
      peek: async (pool: string, limit: number) => {
        clock.pass(1);
        return letters.peek(pool, limit);
      },
    });
    expect(await sweep(AT)).toEqual({ died: 0, strange: 0 });
    expect(await letters.peek('inventory', 10)).toHaveLength(1);
    clock.pass(20 * SECOND);
    expect(await sweep(clock.now() + 2)).toEqual(strange);
  });

  test('begins with another pool each minute', async () => {
    const first: string[] = [];
    const { sweep, clock } = await scene([], {
      letters: {
        peek: async (pool) => {
          first.push(pool);
          clock.pass(1);
          return [];
        },
      },
    });
    for (let minute = 0; minute < 4; minute += 1) {
      await sweep(clock.now());
      clock.pass(MINUTE);
    }
    expect(first).toEqual(['inventory', 'payment', 'inventory', 'payment']);
  });

  test('remembers a bounded number of letters: one that stays is judged once more', {
    timeout: 30_000,
  }, async () => {
    const { sweep, letters, bury, log } = await scene([]);
    const stays = bury('x');
    for (let round = 0; round < 210; round += 1) {
      const ids = Array.from({ length: 49 }, () => bury('y'));
      await sweep();
      for (const id of ids) letters.remove('inventory', id);
    }
    expect(log.lines.filter(({ fields }) => fields?.['messageId'] === stays)).toHaveLength(2);
  });
});
