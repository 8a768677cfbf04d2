import { describe, expect, test, vi } from 'vitest';
import { claimOf, verdictOn } from '#core/claim.ts';
import { closer } from '#core/close.ts';
import { collector } from '#core/collect.ts';
import type { Command } from '#core/envelope.ts';
import { asRun, asStep, type RunItem, type StepItem, stepItemKey } from '#core/items.ts';
import { eventOf } from '#core/relay.ts';
import {
  doneByPersonOf,
  failByPersonOf,
  type ResolvePorts,
  resolver,
  retryByPersonOf,
  whyNotResolved,
} from '#core/resolve.ts';
import type { Item, Update } from '#core/store.ts';
import { holds } from '#core/store-rules.ts';
import {
  aClaim,
  aCommand,
  aDeadStep,
  aDoneStep,
  aRun,
  aStep,
  DEPLOYED,
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
import { memoryAnswers, memoryExecutions } from '#test/memory/state-machines.ts';
import { memoryStore } from '#test/memory/store.ts';
import { memoryTopic } from '#test/memory/topic.ts';

/** Long after the step's deadline. */
const NOW = T0 + 60 * MINUTE;
const WHO = 'arn:aws:sts::123456789012:assumed-role/operator/ada';
const by = (how: 'done' | 'retry' | 'fail', why?: string) => ({
  how,
  who: WHO,
  at: NOW,
  ...(why !== undefined && { why }),
});
const held = aRun({ status: 'held', cause: { execution: 'FAILED', error: 'TaskFailed' } });
const dead = aDeadStep({ reason: 'unknown' });
const output = { reservationId: 'r-9', customer: 'Ada' };

async function scene(run: RunItem, steps: readonly StepItem[] = [dead], more: Partial<ResolvePorts> = {}) {
  const store = memoryStore();
  const payloads = memoryPayloads();
  const commands = memoryTopic<Command>();
  const clock = manualClock(NOW);
  const log = memoryLog();
  await seed(store, run, ...steps);
  const ports = { store, payloads, commands, closer: closer({ store, payloads, clock }), ...more };
  const step = async (key = 'Reserve') =>
    asStep((await store.get(stepItemKey(RUN_ID, key))) as unknown as Item);
  const present = async () => asRun((await store.get(run)) as Item);
  return { ...resolver(ports), store, payloads, commands, clock, log, step, run: present };
}

describe('which tasks a person may decide', () => {
  const retried = aStep({ status: 'retrying', resolvedBy: by('retry') });
  test.each([
    ['a dead task of a held run', held, dead, 'done', undefined],
    ['a dead task of a running one', aRun(), aDeadStep(), 'fail', undefined],
    ['no task of a run that has ended', aRun({ status: 'failed' }), dead, 'retry', 'run_closed'],
    ['nor of one that succeeded', aRun({ status: 'succeeded' }), dead, 'retry', 'run_closed'],
    ['none that is done', held, aDoneStep(), 'done', 'not_dead'],
    ['none that waits for its next try', held, aStep({ status: 'retrying' }), 'retry', 'not_dead'],
    ['but a retry may be repeated', held, retried, 'retry', undefined],
    ['and nothing else instead of it', held, retried, 'done', 'not_dead'],
  ] as const)('%s', (_, run, step, how, why) => {
    expect(whyNotResolved(run, step, how)).toBe(why);
  });
});

describe('each decision is about the death that was looked at', () => {
  test.each<[string, Update]>([
    ['done', doneByPersonOf(held, dead, reserve, { text: '{}' }, by('done'))],
    ['retry', retryByPersonOf(dead, by('retry'))],
    ['fail', failByPersonOf(held, dead, by('fail'))],
  ])('%s', (_, { when, key }) => {
    const allowed = (changes: Partial<StepItem>) => holds(when, { ...dead, ...changes } as unknown as Item);
    expect(key).toEqual({ PK: dead.PK, SK: dead.SK });
    expect(allowed({})).toBe(true);
    for (const other of [
      { status: 'claimed' },
      { status: 'done' },
      { fence: dead.fence + 1 },
      { seq: dead.seq + 1 },
      { execution: SECOND_EXECUTION },
    ] as const)
      expect(allowed(other)).toBe(false);
  });

  test('a task that was revived meanwhile is left alone, and that is said', async () => {
    const { done, retry, fail, store, log, commands } = await scene(held);
    await seed(store, aStep({ status: 'claimed', fence: 4 }));
    const changed = { outcome: 'changed', status: 'claimed' };
    expect(await done(held, dead, reserve, output, by('done'))).toEqual(changed);
    expect(await retry(held, dead, [], by('retry'))).toEqual(changed);
    expect(await fail(held, dead, by('fail'), log)).toEqual(changed);
    expect(commands.taken).toEqual([]);
  });

  test('a task that is gone is no longer there to be decided', async () => {
    const { retry } = await scene(held, []);
    expect(await retry(held, dead, [], by('retry'))).toEqual({ outcome: 'changed', status: undefined });
  });
});

describe('done', () => {
  test('stores the result as a worker would, with its event and who decided', async () => {
    const { done, step } = await scene(held);
    expect(await done(held, dead, reserve, output, by('done', 'seen in the books'))).toEqual({
      outcome: 'resolved',
      run: 'held',
    });
    const now = await step();
    expect(now).toMatchObject({
      status: 'done',
      result: JSON.stringify(output),
      exposed: '{"reservationId":"r-9"}',
      doneAt: NOW,
      seq: dead.seq + 1,
      resolvedBy: { how: 'done', who: WHO, at: NOW, why: 'seen in the books' },
    });
    expect([now.reason, now.failure, now.deaths]).toEqual([undefined, undefined, 1]);
    expect(eventOf(now as unknown as Item)).toMatchObject({
      id: `${RUN_ID}/Reserve/0:${dead.seq + 1}`,
      type: reserve.event,
      source: 'urn:edow:workflow:order',
      tenant: held.tenant,
      correlationid: held.correlationId,
      traceparent: held.traceparent,
      data: output,
    });
  });

  test('a large result goes to the bucket', async () => {
    const { done, step, payloads } = await scene(held);
    const large = { reservationId: 'r', customer: 'x'.repeat(9_000) };
    await done(held, dead, reserve, large, by('done'));
    const { resultRef = '', result } = await step();
    expect(result).toBeUndefined();
    expect(JSON.parse(await payloads.get(resultRef, 'acme'))).toEqual(large);
  });

  test('lets the held run go on, as any late result does', async () => {
    const { done, store, step, clock, log, run } = await scene(held);
    await done(held, dead, reserve, output, by('done'));
    const executions = memoryExecutions();
    const answers = memoryAnswers(); // the token was answered with the failure
    const { collect } = collector({
      store,
      answers,
      executions,
      clock,
      workflows: new Map([['order', DEPLOYED]]),
    });
    await collect(await step(), log);
    expect(await run()).toMatchObject({ status: 'running', execution: 2 });
    expect(executions.started.map(({ name }) => name)).toEqual([`${RUN_ID}-2`]);
  });
});

describe('retry', () => {
  test('a new round with time for it, and the command again: a worker takes it', async () => {
    const { retry, step, commands } = await scene(held);
    expect(await retry(held, dead, [], by('retry'))).toEqual({ outcome: 'resolved', run: 'held' });
    const now = await step();
    expect(now).toMatchObject({
      status: 'retrying',
      tries: 0,
      outcomeExecution: FIRST,
      deadline: NOW + 600 * SECOND,
      resolvedBy: { how: 'retry', who: WHO },
    });
    expect([now.reason, now.failure]).toEqual([undefined, undefined]);
    const [command] = commands.taken;
    expect(command).toEqual(aCommand({ deadline: new Date(now.deadline).toISOString() }));
    // A fresh message, first receive: it claims at once, and is not late.
    const claim = aClaim({ command: command as Command, messageId: 'new', sentAt: NOW, now: NOW + SECOND });
    expect(Date.parse(claim.command.deadline)).toBeGreaterThan(claim.now);
    expect(holds(claimOf(claim).when, now as unknown as Item)).toBe(true);
  });

  test('a deadline still to come stays, and a letter that is redriven is one more copy', async () => {
    const later = aDeadStep({ deadline: NOW + 5000 * SECOND });
    const { retry, step } = await scene(aRun(), [later]);
    await retry(aRun(), later, [], by('retry'));
    const now = await step();
    expect(now.deadline).toBe(NOW + 5000 * SECOND);
    const letter = aClaim({ messageId: 'redriven', sentAt: NOW + MINUTE, now: NOW + MINUTE });
    expect(verdictOn(now, letter)).toEqual({ act: 'claim' });
    expect(verdictOn({ ...now, status: 'done' }, letter)).toEqual({ act: 'ack' });
  });

  test('whose command was not taken says so; said again, only the command is sent', async () => {
    const { retry, step, commands } = await scene(held);
    commands.refuse(`${RUN_ID}/Reserve/0`);
    expect(await retry(held, dead, [], by('retry'))).toEqual({ outcome: 'unpublished' });
    const first = await step();
    const again = await scene(held, [first]);
    expect(await again.retry(held, first, [], by('retry'))).toEqual({ outcome: 'resolved', run: 'held' });
    expect(await again.step()).toEqual(first);
    expect(again.commands.taken).toHaveLength(1);
  });
});

describe('fail', () => {
  const other = { ...aStep({ status: 'retrying' }), ...stepItemKey(RUN_ID, 'Other'), stepKey: 'Other' };
  const finished = { ...aDoneStep(), ...stepItemKey(RUN_ID, 'First'), stepKey: 'First' };

  test('a held run ends as failed: what never finished is cancelled, what is done is kept', async () => {
    const { fail, step, run, log } = await scene(held, [dead, other, finished]);
    expect(await fail(held, dead, by('fail', 'the customer cancelled'), log)).toEqual({
      outcome: 'resolved',
      run: 'failed',
    });
    expect(await run()).toMatchObject({
      status: 'failed',
      cause: { execution: 'FAILED', error: 'RefusedByPerson', message: 'the customer cancelled' },
    });
    expect((await run()).openShard).toMatch(/^ENDED#[0-3]$/);
    expect(await step()).toMatchObject({
      status: 'cancelled',
      failure: { name: 'RefusedByPerson', refused: true },
      resolvedBy: { how: 'fail', who: WHO, why: 'the customer cancelled' },
    });
    expect([(await step('Other')).status, (await step('First')).status]).toEqual(['cancelled', 'done']);
  });

  test('a running one goes on to its own close, and that is a failure', async () => {
    const { fail, step, run, store, payloads, clock, log } = await scene(aRun(), [dead]);
    expect(await fail(aRun(), dead, by('fail'), log)).toEqual({ outcome: 'resolved', run: 'running' });
    const told = await step();
    expect(told).toMatchObject({ status: 'dead', seq: dead.seq + 1 });
    expect(JSON.parse(told.outbox?.data ?? '')).toEqual({
      taskId: `${RUN_ID}/Reserve/0`,
      type: dead.type,
      version: dead.version,
      reason: dead.reason,
      tries: dead.tries,
      started: dead.started,
      error: 'RefusedByPerson',
      class: 'permanent',
      message: 'refused by a person',
      fingerprint: 'refused-by-person',
      workers: [],
      firstAt: NOW,
      deaths: 1,
      replays: 0,
    });
    expect((await run()).status).toBe('running');
    const { close } = closer({ store, payloads, clock });
    await close(RUN_ID, 1, { status: 'FAILED', error: 'TaskFailed', cause: '{}' }, log);
    expect((await run()).status).toBe('failed');
  });

  test('a run that was held meanwhile ends too', async () => {
    const { fail, run, log } = await scene(held);
    await fail(aRun(), dead, by('fail'), log);
    expect(await run()).toMatchObject({ status: 'failed', cause: { message: 'refused by a person' } });
  });

  test('its reason is kept as other failures are: without what looks like an address', async () => {
    const { fail, step, log } = await scene(aRun());
    await fail(aRun(), dead, by('fail', 'as ada@example.com wants'), log);
    expect((await step()).failure?.message).not.toContain('ada@example.com');
  });

  test('what the close finds is what is told', async () => {
    const close = vi.fn(async () => undefined);
    const { fail, log } = await scene(held, [dead], { closer: { close } });
    expect(await fail(held, dead, by('fail'), log)).toEqual({ outcome: 'resolved', run: 'held' });
    expect(close).toHaveBeenCalledTimes(1);
  });

  test('no copy revives it: not even a replay; and one that was looked at before is refused', async () => {
    const refusable = aDeadStep();
    const { fail, step, log } = await scene(aRun(), [refusable]);
    await fail(aRun(), refusable, by('fail'), log);
    const replayed = aClaim({ replay: 7, messageId: 'new', now: NOW });
    expect(verdictOn(refusable, replayed).act).toBe('revive');
    expect(verdictOn(await step(), replayed)).toEqual({ act: 'burn', note: false });
  });
});
