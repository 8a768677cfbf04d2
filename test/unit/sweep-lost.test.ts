import { describe, expect, test } from 'vitest';
import type { Command } from '#core/envelope.ts';
import { PortUnavailable } from '#core/errors.ts';
import { type StepItem, stepItemKey } from '#core/items.ts';
import {
  aDeadStep,
  aDispatch,
  aDoneStep,
  aRun,
  aStep,
  FIRST,
  MINUTE,
  RUN_ID,
  SECOND,
  SECOND_EXECUTION,
  seed,
  T0,
} from '#test/examples.ts';
import { memoryStore } from '#test/memory/store.ts';
import { DUE, type Given, sweepBench, TASK } from '#test/sweep-bench.ts';
import { unreliableStore } from '#test/unreliable-store.ts';

describe('an answer that was lost is given again', () => {
  test.each<[string, Partial<StepItem>, number, boolean]>([
    ['a minute after the task was done', {}, 61 * SECOND + 1, true],
    ['not sooner: collect is at work', {}, 61 * SECOND, false],
    ['a task whose end nobody noted', { doneAt: undefined as never }, 61 * SECOND + 1, true],
  ])('%s', async (_what, changes, later, given) => {
    const run = aRun({ checkAt: T0 });
    const { sweep, answers } = await sweepBench({ run, steps: [aDoneStep(changes)], at: T0 + later });
    await sweep();
    expect(answers.accepted).toEqual(given ? [{ token: 'token-1', output: '{"reservationId":"r-1"}' }] : []);
  });

  test('also beside a step that cannot be mended: its run stays due for that one', async () => {
    const hopeless = aStep({
      ...stepItemKey(RUN_ID, 'Apart'),
      stepKey: 'Apart',
      orderBy: 'account',
      token: 'token-2',
    });
    const { sweep, answers, runNow, log } = await sweepBench({
      steps: [hopeless, aDoneStep()],
      at: DUE + MINUTE,
    });
    expect(await sweep()).toMatchObject({ checked: 0, failed: 1 });
    expect(answers.accepted).toEqual([{ token: 'token-1', output: '{"reservationId":"r-1"}' }]);
    expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([
      { message: 'step could not be checked', fields: { step: 'Apart', error: 'ContractError' } },
      { message: 'run could not be checked', fields: { error: 'ContractError' } },
    ]);
    expect((await runNow()).checks).toBe(0);
  });

  test('with an empty object where nothing is exposed', async () => {
    const { exposed: _, ...silent } = aDoneStep();
    const { sweep, answers } = await sweepBench({ steps: [silent] });
    await sweep();
    expect(answers.accepted).toEqual([{ token: 'token-1', output: '{}' }]);
  });

  test.each<[string, Partial<StepItem>, boolean]>([
    ['a failure a minute after the death', { deadAt: DUE - MINUTE - 1 }, true],
    ['not sooner', { deadAt: DUE - MINUTE }, false],
    ['a death that nobody noted', { deadAt: undefined as never }, true],
    ['not the failure of an older execution', { deadAt: T0, execution: SECOND_EXECUTION }, false],
  ])('%s', async (_what, changes, given) => {
    const { sweep, answers } = await sweepBench({ steps: [aDeadStep(changes)] });
    await sweep();
    expect(answers.accepted.map(({ error }) => error)).toEqual(given ? ['TaskFailed'] : []);
  });

  test('was it not lost, nothing is said of it', async () => {
    const { sweep, answers, log } = await sweepBench({
      steps: [aDoneStep(), { ...aDeadStep({ deadAt: T0 }), ...stepItemKey(RUN_ID, 'B') }],
    });
    answers.close('token-1');
    await sweep();
    expect(log.lines.filter(({ message }) => message.includes('lost'))).toEqual([]);
  });

  test('no log line shows a token or an output', async () => {
    const { sweep, log } = await sweepBench({ steps: [aDoneStep()] });
    await sweep();
    expect(log.lines.length).toBeGreaterThan(0);
    expect(JSON.stringify(log.lines)).not.toMatch(/token-1|reservationId/);
  });
});

describe('a task that nobody has met', () => {
  const LATER = T0 + 120 * SECOND + 1;

  test('is published again, as it was, and counted', async () => {
    const { sweep, commands, stepNow, asked } = await sweepBench({ steps: [aStep()], at: LATER });
    await sweep();
    expect(asked).toEqual(['inventory.stock.reserve']);
    expect(commands.taken).toMatchObject([
      { id: TASK, execution: FIRST, entry: 0, data: { orderId: 'o-1' } },
    ]);
    expect(await stepNow()).toEqual(aStep({ republished: 1 }));
  });

  test.each<[string, Given]>([
    ['not before two minutes', { steps: [aStep()], at: LATER - 1 }],
    [
      'not two minutes before its next try is due',
      { steps: [aStep({ status: 'retrying', notBefore: T0 + 1 })], at: LATER },
    ],
    ['not past its deadline', { steps: [aStep({ deadline: LATER })], at: LATER }],
    ['not while its queue is long: it will be met', { steps: [aStep()], at: LATER, waiting: 11 }],
    ['not when nobody subscribes to it', { steps: [aStep()], at: LATER, waiting: undefined }],
    ['not a fourth time', { steps: [aStep({ republished: 3 })], at: LATER }],
    ['not while a worker has it', { steps: [aStep({ status: 'claimed', fence: 1 })], at: LATER }],
    ['not when it is cancelled', { steps: [aStep({ status: 'cancelled' })], at: LATER }],
  ])('%s', async (_what, given) => {
    const { sweep, commands, stepNow } = await sweepBench(given);
    await sweep();
    expect(commands.taken).toEqual([]);
    expect(await stepNow()).toEqual(given.steps?.[0]);
  });

  test.each<[string, Given]>([
    [
      'retrying, two minutes after its next try was due',
      { steps: [aStep({ status: 'retrying', notBefore: T0 })], at: LATER },
    ],
    ['a third time', { steps: [aStep({ republished: 2 })], at: LATER }],
    ['while its queue is near empty', { steps: [aStep()], at: LATER, waiting: 10 }],
  ])('%s', async (_what, given) => {
    const { sweep, commands, log } = await sweepBench(given);
    await sweep();
    expect(commands.taken).toHaveLength(1);
    expect(log.lines).toContainEqual(
      expect.objectContaining({ fields: expect.objectContaining({ published: true }) }),
    );
  });

  test.each<[string, StepItem]>([
    ['met', aStep({ status: 'claimed', fence: 1 })],
    ['tried', aStep({ status: 'retrying', fence: 1 })],
    ['entered again', aStep({ execution: SECOND_EXECUTION })],
  ])('but %s since the look is not', async (_what, now) => {
    const memory = memoryStore();
    await seed(memory, aRun(), aStep());
    const store = unreliableStore(memory, {
      before: ({ name, key }) =>
        name === 'update' && key === 'STEP#Reserve' ? seed(memory, now) : undefined,
    });
    const { sweep, commands } = await sweepBench({ at: LATER, ports: { store } });
    await sweep();
    expect(commands.taken).toEqual([]);
    expect(await memory.get(stepItemKey(RUN_ID, 'Reserve'))).toEqual(now);
  });

  test('whose command is not taken is tried at the next look', async () => {
    const { sweep, commands, log, clock } = await sweepBench({ steps: [aStep()], at: LATER });
    commands.refuse(TASK);
    expect(await sweep()).toMatchObject({ checked: 1, failed: 0 });
    expect(log.lines).toContainEqual(
      expect.objectContaining({ fields: expect.objectContaining({ published: false }) }),
    );
    clock.pass(4 * MINUTE);
    await sweep();
    expect(log.lines.filter(({ fields }) => fields['published'] === false)).toHaveLength(2);
  });

  test('whose queue is away for many looks is still sent three times after that', async () => {
    let away: 'throws' | 'takes nothing' | undefined;
    const taken: string[] = [];
    const publish = async (commands: readonly Command[]) => {
      if (away === 'throws') throw new PortUnavailable('SendMessage is unavailable: TimeoutError');
      if (away === undefined) taken.push(...commands.map(({ id }) => id));
      return away === undefined ? [] : commands.map(({ id }) => id);
    };
    const step = aStep({ deadline: T0 + 1000 * MINUTE });
    const { sweep, clock, stepNow } = await sweepBench({
      steps: [step],
      at: LATER,
      ports: { commands: { publish } },
    });
    for (away of ['throws', 'takes nothing', 'throws', 'takes nothing', 'throws'] as const) {
      expect(await sweep()).toMatchObject({ failed: away === 'throws' ? 1 : 0 });
      expect(await stepNow()).toMatchObject({ republished: 0, status: 'ready' });
      clock.pass(61 * MINUTE);
    }
    away = undefined;
    for (let look = 0; look < 5; look += 1) {
      await sweep();
      clock.pass(61 * MINUTE);
    }
    expect(taken).toEqual([TASK, TASK, TASK]);
  });

  test('that is entered again while its command is not taken keeps its own count', async () => {
    const memory = memoryStore();
    await seed(memory, aRun(), aStep());
    const again = aStep({ execution: SECOND_EXECUTION, republished: 2 });
    const publish = async () => {
      await seed(memory, again);
      return [TASK];
    };
    const { sweep } = await sweepBench({ at: LATER, ports: { store: memory, commands: { publish } } });
    await sweep();
    expect(await memory.get(stepItemKey(RUN_ID, 'Reserve'))).toEqual(again);
  });
});

test('what is published again is what dispatch would publish', async () => {
  const { sweep, commands } = await sweepBench({ steps: [aStep()], at: T0 + 3 * MINUTE });
  await sweep();
  expect(commands.taken[0]).toMatchObject({
    deadline: new Date(T0 + aDispatch().timeoutSeconds * SECOND).toISOString(),
  });
});
