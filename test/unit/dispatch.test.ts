import { describe, expect, test } from 'vitest';
import { claimOf, reviveOf } from '#core/claim.ts';
import { buildCommand, dispatcher, enterStepOf, RUN_CLOSED } from '#core/dispatch.ts';
import { DISPATCH_FAILED, type DispatchRequest, INVALID_COMMAND } from '#core/dispatch-request.ts';
import type { Command } from '#core/envelope.ts';
import { PayloadGone } from '#core/errors.ts';
import {
  asRun,
  asStep,
  executionOrder,
  type RunItem,
  runKey,
  type StepItem,
  stepItemKey,
} from '#core/items.ts';
import { fromInput, fromStep } from '#core/mapping.ts';
import { partitionKeyOf } from '#core/ordering-key.ts';
import { parseCommand } from '#core/read-command.ts';
import { expiryOf, holdRunOf, redrivenRunOf } from '#core/run-changes.ts';
import type { Item, Store } from '#core/store.ts';
import { applied, holds } from '#core/store-rules.ts';
import {
  aClaim,
  aDeadStep,
  aDispatch,
  aDoneStep,
  aRun,
  aStep,
  FIRST,
  MINUTE,
  RUN_ID,
  reserve,
  SECOND,
  SECOND_EXECUTION,
  seed,
  T0,
} from '#test/examples.ts';
import { manualClock } from '#test/memory/determinate.ts';
import { memoryLog } from '#test/memory/log.ts';
import { memoryPayloads } from '#test/memory/payloads.ts';
import { memoryAnswers } from '#test/memory/state-machines.ts';
import { memoryStore } from '#test/memory/store.ts';
import { memoryTopic } from '#test/memory/topic.ts';
import { unreliableStore } from '#test/unreliable-store.ts';

const TASK = `${RUN_ID}/Reserve/0`;
const again = (changes: Partial<DispatchRequest> = {}): DispatchRequest =>
  aDispatch({ execution: 2, token: 'token-2', entered: new Date(T0 + MINUTE).toISOString(), ...changes });

async function scene(run: RunItem | undefined, ...steps: StepItem[]) {
  const memory = memoryStore();
  await seed(memory, ...(run ? [run] : []), ...steps);
  const commands = memoryTopic<Command>();
  const answers = memoryAnswers();
  for (const token of ['token-1', 'token-2']) answers.open(token);
  const payloads = memoryPayloads();
  const log = memoryLog();
  const dispatch = (request: DispatchRequest, store: Store = memory) =>
    dispatcher({ store, commands, answers, payloads, clock: manualClock(T0) }).dispatch(request, log);
  const stepNow = async () => {
    const item = await memory.get(stepItemKey(RUN_ID, 'Reserve'));
    return item && asStep(item);
  };
  const runNow = async () => {
    const item = await memory.get(runKey(RUN_ID));
    return item && asRun(item);
  };
  return { memory, commands, answers, payloads, log, dispatch, stepNow, runNow };
}

describe('enterStepOf', () => {
  const entered = (request: DispatchRequest, step?: StepItem): StepItem =>
    asStep(applied(enterStepOf(request), step as Item | undefined));
  const allowed = (request: DispatchRequest, step?: StepItem) =>
    holds(enterStepOf(request).when, step as Item | undefined);

  test('makes a step that is ready for its first try', () => {
    expect(entered(aDispatch())).toEqual({
      ...stepItemKey(RUN_ID, 'Reserve'),
      runId: RUN_ID,
      stepKey: 'Reserve',
      type: reserve.type,
      version: 2,
      tryLimit: 3,
      token: 'token-1',
      execution: FIRST,
      entry: 0,
      deadline: T0 + 600 * SECOND,
      timeoutSeconds: 600,
      entered: T0,
      firstEntered: T0,
      input: '{"orderId":{"$from":"input","path":["orderId"]}}',
      status: 'ready',
      fence: 0,
      tries: 0,
      started: 0,
      clean: 0,
      seq: 0,
    });
  });

  test('a later entry owns token and deadline; what the task has been through stays', () => {
    const step = aDeadStep({ clean: 1 });
    expect(entered(again(), step)).toEqual({
      ...step,
      token: 'token-2',
      execution: SECOND_EXECUTION,
      entered: T0 + MINUTE,
      deadline: T0 + MINUTE + 600 * SECOND,
    });
  });

  test.each<[string, Partial<DispatchRequest>, boolean]>([
    ['the same pair: a dispatch that runs again', { execution: 2, redrive: 1, entry: 3 }, true],
    ['a later entry', { execution: 2, redrive: 1, entry: 4 }, true],
    ['an older entry', { execution: 2, redrive: 1, entry: 2 }, false],
    ['a later redrive, whatever its entry', { execution: 2, redrive: 2, entry: 0 }, true],
    ['an older redrive', { execution: 2, redrive: 0, entry: 9 }, false],
    ['a later execution', { execution: 3, redrive: 0, entry: 0 }, true],
    ['an older execution', { execution: 1, redrive: 9, entry: 9 }, false],
  ])('%s: %s', (_what, changes, expected) => {
    const step = aStep({ execution: executionOrder(2, 1), entry: 3 });
    expect(allowed(aDispatch(changes), step)).toBe(expected);
  });

  test('any pair may make the step', () => {
    expect(allowed(aDispatch())).toBe(true);
  });
});

describe('a step that is entered', () => {
  test('has its command published, with its input resolved', async () => {
    const { dispatch, commands, answers, stepNow } = await scene(aRun());
    await dispatch(aDispatch());
    expect(commands.taken).toHaveLength(1);
    expect(commands.taken[0]).toMatchObject({
      id: TASK,
      type: 'inventory.stock.reserve',
      data: { orderId: 'o-1' },
      execution: FIRST,
      entry: 0,
      trylimit: 3,
      tenant: 'acme',
      correlationid: 'corr-1',
      deadline: new Date(T0 + 600 * SECOND).toISOString(),
    });
    expect(parseCommand(JSON.stringify(commands.taken[0]))).toEqual(commands.taken[0]);
    expect(answers.accepted).toEqual([]);
    expect(await stepNow()).toMatchObject({ status: 'ready', token: 'token-1' });
  });

  test('is written before its run is read', async () => {
    const calls: string[] = [];
    const { memory, dispatch } = await scene(aRun());
    const store = unreliableStore(memory, {
      before: ({ name, key }) => void calls.push(`${name} ${key}`) as undefined,
    });
    await dispatch(aDispatch(), store);
    expect(calls).toEqual(['update STEP#Reserve', 'get RUN']);
  });

  test('dispatched again publishes the same command: a duplicate of the first', async () => {
    const { dispatch, commands } = await scene(aRun());
    await dispatch(aDispatch());
    await dispatch(aDispatch());
    expect(commands.taken).toHaveLength(2);
    expect(commands.taken[1]).toEqual(commands.taken[0]);
  });

  test('gets the results of earlier steps, inline or from the bucket; an unfinished one gives nothing', async () => {
    const { dispatch, commands, payloads, memory } = await scene(aRun());
    const at = (stepKey: string, changes: Partial<StepItem>): StepItem => {
      const { result: _, ...rest } = aDoneStep({ ...stepItemKey(RUN_ID, stepKey), stepKey });
      return { ...rest, ...changes };
    };
    await seed(
      memory,
      at('Charge', { result: '{"paymentId":"p-1"}' }),
      at('Pack', { resultRef: await payloads.put('acme/run/pack.json', '{"boxes":2}') }),
      at('Ship', { status: 'dead', result: '{"shipmentId":"s-1"}' }),
      at('Other', { result: 'not even JSON' }),
    );
    const input = {
      payment: fromStep('Charge', 'paymentId'),
      boxes: fromStep('Pack', 'boxes'),
      shipment: fromStep('Ship', 'shipmentId'),
      fixed: 'yes',
    };
    await dispatch(aDispatch({ input }));
    expect(commands.taken[0]?.data).toEqual({ payment: 'p-1', boxes: 2, fixed: 'yes' });
  });

  test('reads a large run input from the bucket, and none that it does not need', async () => {
    const { dispatch, commands, payloads, memory } = await scene(undefined);
    const { input: _, ...rest } = aRun();
    await seed(memory, { ...rest, inputRef: await payloads.put('acme/run/input.json', '{"orderId":"o-2"}') });
    await dispatch(aDispatch());
    payloads.objects.clear();
    await dispatch(aDispatch({ input: { fixed: 1 } }));
    expect(commands.taken.map(({ data }) => data)).toEqual([{ orderId: 'o-2' }, { fixed: 1 }]);
  });

  test('whose whole input is a reference without a value gets null', async () => {
    const { dispatch, commands } = await scene(aRun());
    await dispatch(aDispatch({ input: fromInput('gone') }));
    expect(commands.taken[0]?.data).toBeNull();
  });

  test('whose input is larger than 32 KB travels as a pointer', async () => {
    const text = 'x'.repeat(32 * 1024);
    const { dispatch, commands, payloads } = await scene(aRun({ input: JSON.stringify({ text }) }));
    await dispatch(aDispatch({ input: { text: fromInput('text') } }));
    const command = commands.taken[0];
    expect(command).not.toHaveProperty('data');
    expect(command?.dataref).toContain(`acme/${RUN_ID}/Reserve-command.json`);
    expect(JSON.parse(await payloads.get(command?.dataref ?? '', 'acme'))).toEqual({ text });
  });

  test('whose command the topic does not take fails its token by name', async () => {
    const { dispatch, commands, answers } = await scene(aRun());
    commands.refuse(TASK);
    await dispatch(aDispatch());
    expect(answers.accepted).toMatchObject([{ token: 'token-1', error: DISPATCH_FAILED }]);
  });

  test('no log line shows input or token', async () => {
    const { dispatch, commands, log } = await scene(aRun());
    commands.refuse(TASK);
    await dispatch(aDispatch());
    await dispatch(aDispatch({ execution: 3 }));
    expect(log.lines.length).toBeGreaterThan(1);
    expect(JSON.stringify(log.lines)).not.toMatch(/token-1|o-1/);
  });
});

describe('a dispatch that was overtaken', () => {
  test('by a later entry stops: it neither publishes nor answers', async () => {
    const step = aStep({ execution: SECOND_EXECUTION, token: 'token-2' });
    const { dispatch, commands, answers, stepNow } = await scene(aRun({ execution: 2 }), step);
    await dispatch(aDispatch());
    expect([commands.taken, answers.accepted]).toEqual([[], []]);
    expect(await stepNow()).toEqual(step);
  });
});

describe('a run that does not go on fails the token', () => {
  test.each<[string, RunItem | undefined, DispatchRequest, string]>([
    ['no run', undefined, aDispatch(), 'no such run'],
    ['succeeded', aRun({ status: 'succeeded' }), aDispatch(), 'the run has succeeded'],
    ['failed', aRun({ status: 'failed' }), aDispatch(), 'the run has failed'],
    ['in a later execution', aRun({ execution: 2 }), aDispatch(), 'execution 1 was left for execution 2'],
    ['held', aRun({ status: 'held' }), aDispatch(), 'the run is held'],
    [
      'held, after a redrive that it has met',
      aRun({ status: 'held', redrive: 1 }),
      aDispatch({ redrive: 1 }),
      'the run is held',
    ],
  ])('%s', async (_what, run, request, cause) => {
    const { dispatch, commands, answers, runNow } = await scene(run);
    await dispatch(request);
    expect(answers.accepted).toEqual([{ token: 'token-1', error: RUN_CLOSED, cause }]);
    expect(commands.taken).toEqual([]);
    expect(await runNow()).toEqual(run);
  });

  test("an ended run's execution that was redriven from AWS's console leaves no step that may begin", async () => {
    const ended = aRun({ status: 'failed', closedAt: T0, expiresAt: expiryOf(T0) });
    const { dispatch, stepNow, answers } = await scene(ended);
    await dispatch(aDispatch({ redrive: 1 }));
    expect(answers.accepted).toMatchObject([{ error: RUN_CLOSED }]);
    expect(await stepNow()).toMatchObject({ status: 'cancelled', expiresAt: expiryOf(T0) });
  });

  test("but a held run whose execution was redriven from AWS's console runs again", async () => {
    const { dispatch, commands, runNow } = await scene(
      aRun({ status: 'held', cause: { execution: 'FAILED' } }),
    );
    await dispatch(aDispatch({ redrive: 1 }));
    expect(commands.taken).toMatchObject([{ execution: executionOrder(1, 1) }]);
    expect(await runNow()).toMatchObject({ status: 'running', execution: 1, redrive: 1 });
  });

  test('a redrive is noted while the run still counts as running: its late end event holds nothing', async () => {
    const { dispatch, commands, runNow, memory } = await scene(aRun());
    await dispatch(aDispatch({ redrive: 1 }));
    expect(commands.taken).toHaveLength(1);
    expect(await runNow()).toMatchObject({ status: 'running', redrive: 1, seq: aRun().seq });
    const late = await memory.update(holdRunOf(aRun(), { execution: 'FAILED' }, T0));
    expect(late.written).toBe(false);
  });

  test('two branches of a redriven execution both go on', async () => {
    const held = aRun({ status: 'held' });
    const { memory, dispatch, commands } = await scene(held);
    const store = unreliableStore(memory, {
      before: ({ name, key }) =>
        name === 'update' && key === 'RUN' ? memory.update(redrivenRunOf(held, 1, T0)) : undefined,
    });
    await dispatch(aDispatch({ redrive: 1 }), store);
    expect(commands.taken).toHaveLength(1);
  });

  test('a held run that vanishes meanwhile does not', async () => {
    const { memory, dispatch, answers } = await scene(aRun({ status: 'held' }));
    const store: Store = {
      ...memory,
      update: async (update) =>
        update.key.SK === 'RUN' ? { written: false, item: undefined } : memory.update(update),
    };
    await dispatch(aDispatch({ redrive: 1 }), store);
    expect(answers.accepted).toMatchObject([{ error: RUN_CLOSED }]);
  });
});

describe('a task that has an outcome', () => {
  test('done: the token is answered from memory with what states may see', async () => {
    const { dispatch, commands, answers, stepNow } = await scene(aRun({ execution: 2 }), aDoneStep());
    await dispatch(again());
    expect(answers.accepted).toEqual([{ token: 'token-2', output: '{"reservationId":"r-1"}' }]);
    expect(commands.taken).toEqual([]);
    expect(await stepNow()).toMatchObject({ status: 'done', fence: 1, token: 'token-2' });
  });

  test('done, and nothing is exposed: an empty object', async () => {
    const { exposed: _, ...silent } = aDoneStep();
    const { dispatch, answers } = await scene(aRun(), silent);
    await dispatch(aDispatch());
    expect(answers.accepted).toEqual([{ token: 'token-1', output: '{}' }]);
  });

  test('dead in this execution: the failure is answered, without a payload', async () => {
    const { dispatch, commands, answers, stepNow } = await scene(aRun(), aDeadStep());
    await dispatch(aDispatch());
    expect(answers.accepted).toMatchObject([{ token: 'token-1', error: 'TaskFailed' }]);
    expect(JSON.parse(answers.accepted[0]?.cause ?? '')).toEqual({
      taskId: TASK,
      type: reserve.type,
      reason: 'exhausted',
      error: 'Timeout',
      fingerprint: 'f00d',
    });
    expect(commands.taken).toEqual([]);
    expect(await stepNow()).toMatchObject({ status: 'dead' });
  });

  test('dead by a refusal: a name of its own, for a Catch of the workflow', async () => {
    const failure = {
      class: 'permanent',
      name: 'Declined',
      message: 'no',
      fingerprint: 'f',
      refused: true,
    } as const;
    const { dispatch, answers } = await scene(aRun(), aDeadStep({ failure }));
    await dispatch(aDispatch());
    expect(answers.accepted).toMatchObject([{ error: 'TaskRefused' }]);
  });

  test('dead without a failure on record: answered all the same', async () => {
    const { failure: _, ...step } = aDeadStep();
    const { dispatch, answers } = await scene(aRun(), step);
    await dispatch(aDispatch());
    expect(answers.accepted).toMatchObject([{ error: 'TaskFailed' }]);
  });

  test('dead in an older execution: reset to a new round, and published', async () => {
    const { dispatch, commands, answers, stepNow } = await scene(
      aRun({ execution: 2 }),
      aDeadStep({ notBefore: T0 + MINUTE }),
    );
    await dispatch(again());
    expect(answers.accepted).toEqual([]);
    expect(commands.taken).toMatchObject([{ id: TASK, execution: SECOND_EXECUTION }]);
    const step = await stepNow();
    expect(step).toMatchObject({
      status: 'retrying',
      tries: 0,
      fence: 3,
      started: 3,
      deaths: 1,
      outcomeExecution: SECOND_EXECUTION,
    });
    for (const gone of ['reason', 'failure', 'notBefore']) expect(step).not.toHaveProperty(gone);
    // The command of the new round may claim at once.
    expect(holds(claimOf(aClaim()).when, step as unknown as Item)).toBe(true);
  });

  test('dead, and nothing says in which execution: an older one', async () => {
    const { outcomeExecution: _, ...step } = aDeadStep();
    const { dispatch, commands } = await scene(aRun(), step);
    await dispatch(aDispatch());
    expect(commands.taken).toHaveLength(1);
  });

  test.each(['cancelled', 'surplus'] as const)('%s: the token is failed by name', async (status) => {
    const { dispatch, commands, answers } = await scene(aRun(), aStep({ status }));
    await dispatch(aDispatch());
    expect(answers.accepted).toEqual([
      { token: 'token-1', error: RUN_CLOSED, cause: `the task is ${status}` },
    ]);
    expect(commands.taken).toEqual([]);
  });

  test.each(['claimed', 'retrying'] as const)('%s: published again, and untouched', async (status) => {
    const { dispatch, commands, stepNow } = await scene(
      aRun({ execution: 2 }),
      aStep({ status, fence: 2, tries: 2 }),
    );
    await dispatch(again());
    expect(commands.taken).toHaveLength(1);
    expect(await stepNow()).toMatchObject({ status, fence: 2, tries: 2 });
  });

  test('revived by a redrive before it could be reset: that try goes on, and the command is published', async () => {
    const { memory, dispatch, commands, stepNow } = await scene(aRun({ execution: 2 }), aDeadStep());
    const store = unreliableStore(memory, {
      before: ({ name, number }) =>
        name === 'update' && number === 2 ? memory.update(reviveOf(aClaim(), aDeadStep())) : undefined,
    });
    await dispatch(again(), store);
    expect(commands.taken).toHaveLength(1);
    expect(await stepNow()).toMatchObject({ status: 'claimed', tries: 1, fence: 4 });
  });

  test('gone before it could be reset: nothing is published', async () => {
    const { memory, dispatch, commands } = await scene(aRun({ execution: 2 }), aDeadStep());
    const store: Store = {
      ...memory,
      update: async (update) =>
        'tries' in update.changes && !('token' in update.changes)
          ? { written: false, item: undefined }
          : memory.update(update),
    };
    await dispatch(again(), store);
    expect(commands.taken).toEqual([]);
  });
});

test('a command built from what is stored is the one that was published', async () => {
  const { dispatch, commands, payloads, stepNow } = await scene(aRun());
  await dispatch(aDispatch());
  const built = await buildCommand(payloads, aRun(), (await stepNow()) as StepItem, []);
  expect(built).toEqual(commands.taken[0]);
});

describe('a task that no new execution tries again', () => {
  const failure = { class: 'permanent', name: 'No', message: 'no', fingerprint: 'f', refused: true } as const;

  test.each([
    ['whose outcome is not known', { reason: 'unknown', atMostOnce: true }, 'TaskFailed'],
    ['that has refused', { reason: 'permanent', failure }, 'TaskRefused'],
  ] as const)('%s: fails each that comes to it, and is not sent', async (_name, changes, error) => {
    const { commands, answers, dispatch, stepNow } = await scene(aRun({ execution: 2 }), aDeadStep(changes));
    await dispatch(again());
    expect(commands.taken).toEqual([]);
    expect(answers.accepted).toEqual([
      { token: 'token-2', error, cause: expect.stringContaining(`"reason":"${changes.reason}"`) },
    ]);
    expect(await stepNow()).toMatchObject({
      status: 'dead',
      reason: changes.reason,
      outcomeExecution: SECOND_EXECUTION,
    });
  });
});

describe('a task that keeps the order of its key', () => {
  const ordered = (field: string) =>
    aDispatch({ task: { type: reserve.type, version: 2, tries: 3, orderBy: field } });

  test('carries a partition key: the same for the same value and tenant, and no name of anybody', async () => {
    const { commands, dispatch } = await scene(aRun());
    await dispatch(ordered('orderId'));
    const [command] = commands.taken;
    expect(command?.partitionkey).toBe(partitionKeyOf('acme', reserve.type, 'orderId', { orderId: 'o-1' }));
    expect(command?.partitionkey).not.toContain('o-1');
    expect(parseCommand(JSON.stringify(command))).toEqual(command);
  });

  test('without a value to order by fails its token by a name that is not tried again', async () => {
    const { commands, answers, dispatch, log } = await scene(aRun());
    await dispatch(ordered('account'));
    expect(commands.taken).toEqual([]);
    expect(answers.accepted).toMatchObject([
      { token: 'token-1', error: INVALID_COMMAND, cause: expect.stringContaining('ordered by "account"') },
    ]);
    expect(log.lines).toContainEqual(expect.objectContaining({ message: 'command cannot be built' }));
  });
});

test('a pointer that leads nowhere is no reason to give the step up: dispatch is tried again', async () => {
  const run = aRun({ inputRef: 's3://payloads/payloads/acme/gone.json#0' });
  const { dispatch } = await scene({ ...run, input: undefined as never });
  await expect(dispatch(aDispatch())).rejects.toThrow(PayloadGone);
});
