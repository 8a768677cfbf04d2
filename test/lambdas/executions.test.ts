/** What Step Functions and EventBridge hand over: dispatch's requests and the end-state events of close. */
import { beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '#adapters/system.ts';
import { closer } from '#core/close.ts';
import { DISPATCH_FAILED } from '#core/dispatch-request.ts';
import { PortUnavailable } from '#core/errors.ts';
import { executionName } from '#core/items.ts';
import type { ExecutionState } from '#core/ports.ts';
import { dispatchEntry } from '#runtime/dispatch-entry.ts';
import { type EndDetail, endOfExecution } from '#runtime/end-event.ts';
import { aDispatch, aDoneStep, aRun, DEPLOYED, RUN_ID, seed } from '#test/examples.ts';
import { memoryLog } from '#test/memory/log.ts';
import { memoryPayloads } from '#test/memory/payloads.ts';
import { memoryAnswers, memoryExecutions } from '#test/memory/state-machines.ts';
import { memoryStore } from '#test/memory/store.ts';
import { memoryTopic } from '#test/memory/topic.ts';
import { lambdaContext, printed, virtualTime } from '#test/pool-fixtures.ts';
import { unreliableStore } from '#test/unreliable-store.ts';

beforeEach(virtualTime);

describe('dispatch tells its state whatever goes wrong', () => {
  function entered(store = memoryStore(), lost: (name: string, number: number) => boolean = () => false) {
    const answers = memoryAnswers();
    answers.open('token-1');
    const commands = memoryTopic();
    const ports = { answers, commands, payloads: memoryPayloads(), clock: systemClock };
    const unreliable = unreliableStore(store, { lost: ({ name, number }) => lost(name, number) });
    const handler = dispatchEntry({ ...ports, store: unreliable } as never);
    return {
      ...ports,
      store,
      enter: (request: unknown) => handler(request as never, lambdaContext() as never),
    };
  }

  test('a command is published, and the token stays open', async () => {
    printed();
    const state = entered();
    await seed(state.store, aRun());
    await state.enter(aDispatch());
    expect(state.commands.taken).toHaveLength(1);
    expect(state.answers.accepted).toEqual([]);
  });

  test.each(['update', 'get'])(
    'a lost answer of the store (%s): the token is failed by name, and the next entry goes on',
    async (call) => {
      const log = printed();
      const state = entered(memoryStore(), (name, number) => name === call && number === 1);
      await seed(state.store, aRun());
      await state.enter(aDispatch());
      expect(state.answers.accepted).toEqual([
        { token: 'token-1', error: DISPATCH_FAILED, cause: 'dispatch failed: PortUnavailable' },
      ]);
      expect(log.entries().at(-1)).toMatchObject({ level: 'ERROR', message: 'dispatch failed', run: RUN_ID });
      state.answers.open('token-1');
      await state.enter(aDispatch({ entry: 1 }));
      expect(state.commands.taken).toHaveLength(1);
    },
  );

  test.each([
    ['no input', { input: undefined }],
    ['no task', { task: undefined }],
    ['an entered time that is none', { entered: 'soon' }],
  ])('a request with %s fails its token, without a content', async (_name, changes) => {
    printed();
    const state = entered();
    await seed(state.store, aRun());
    await state.enter({ ...aDispatch(), ...changes });
    expect(state.answers.accepted).toMatchObject([{ token: 'token-1', error: DISPATCH_FAILED }]);
    expect(state.answers.accepted[0]?.cause).toMatch(/^dispatch failed: \w+$/);
    expect(state.commands.taken).toEqual([]);
  });

  test('an answer that cannot be given is thrown, so that the state sees it', async () => {
    printed();
    const store = unreliableStore(memoryStore(), { lost: () => true });
    const answers = { ...memoryAnswers(), fail: () => Promise.reject(new PortUnavailable('no answer')) };
    const handler = dispatchEntry({
      store,
      answers,
      commands: memoryTopic(),
      payloads: memoryPayloads(),
      clock: systemClock,
    } as never);
    await expect(handler(aDispatch(), lambdaContext() as never)).rejects.toThrow(
      'the log entry before this one',
    );
  });
});

describe('close reads the end of an execution', () => {
  const detail = (changes: object = {}): EndDetail =>
    ({
      stateMachineArn: DEPLOYED.stateMachineArn,
      name: RUN_ID,
      status: 'SUCCEEDED',
      output: '{}',
      ...changes,
    }) as EndDetail;

  /** Hands end events over as close does; `now` is what Step Functions says of the execution. */
  async function closeOn(now?: ExecutionState) {
    const store = memoryStore();
    await seed(store, aRun(), aDoneStep());
    const executions = memoryExecutions();
    await executions.start(DEPLOYED.stateMachineArn, RUN_ID, '{}');
    if (now) executions.end(DEPLOYED.stateMachineArn, RUN_ID, now);
    const { close } = closer({ store, payloads: memoryPayloads(), clock: systemClock });
    const log = memoryLog();
    const onEnd = async (end: unknown) => {
      const ended = await endOfExecution(end as EndDetail, executions, log);
      if (ended) await close(ended.runId, ended.execution, ended.state, log);
      return store.items().find(({ SK }) => SK === 'RUN');
    };
    return { onEnd, log };
  }

  test.each<[string, object, ExecutionState | undefined, string]>([
    ['a success', {}, undefined, 'succeeded'],
    [
      'a success whose output was too large for the event',
      { output: undefined },
      { status: 'SUCCEEDED', output: '{}' },
      'succeeded',
    ],
    ['a success with output null', { output: null }, { status: 'SUCCEEDED', output: '{}' }, 'succeeded'],
    ['a failure', { status: 'FAILED' }, { status: 'FAILED', error: 'E' }, 'failed'],
    ['an abort', { status: 'ABORTED' }, { status: 'ABORTED' }, 'held'],
    ['a failure that was redriven since', { status: 'FAILED' }, undefined, 'running'],
    [
      'a failure of an execution that is gone',
      { status: 'FAILED', stateMachineArn: 'arn:other' },
      undefined,
      'running',
    ],
    ['a redrive that waits', { status: 'PENDING_REDRIVE' }, undefined, 'running'],
  ])('%s', async (_name, changes, now, status) => {
    const { onEnd } = await closeOn(now);
    expect(await onEnd(detail(changes))).toMatchObject({ status });
    // The same event again changes nothing.
    const once = await onEnd(detail(changes));
    expect(await onEnd(detail(changes))).toEqual(once);
  });

  test('H04 the end of an older execution does not close the run of a newer one', async () => {
    const { onEnd } = await closeOn();
    expect(await onEnd(detail({ name: executionName(RUN_ID, 2) }))).toMatchObject({
      status: 'running',
      execution: 1,
    });
  });

  test.each([
    undefined,
    null,
    { name: null },
    { name: 7 },
    { name: '' },
    { name: 'somebody-elses' },
    { name: `${RUN_ID}-1` },
    { name: `${RUN_ID}-02` },
    { name: `${RUN_ID}-undo` },
    { name: RUN_ID.toLowerCase() },
    { name: `${RUN_ID}\n` },
  ])('an end that is none of ours (%j) is told and changes nothing', async (odd) => {
    const { onEnd, log } = await closeOn({ status: 'FAILED' });
    expect(await onEnd(odd && { ...detail(), ...odd })).toMatchObject({ status: 'running' });
    expect(log.lines).toMatchObject([{ level: 'warn' }]);
  });
});
