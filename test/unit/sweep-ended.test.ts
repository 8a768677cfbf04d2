import { describe, expect, test } from 'vitest';
import { PortUnavailable } from '#core/errors.ts';
import type { Outbox } from '#core/items.ts';
import type { TimelineEntry, ViewRows } from '#core/ports.ts';
import { eventOf } from '#core/relay.ts';
import { expiryOf, RUN_EVENTS, runOutbox } from '#core/run-changes.ts';
import { aDeadStep, aRun, MINUTE, RUN_ID, SECOND, T0 } from '#test/examples.ts';
import { DUE, sweepBench } from '#test/sweep-bench.ts';

describe('a sweep of a run that has ended', () => {
  const outbox = (changes: Partial<Outbox> = {}): Outbox => ({
    ...runOutbox(aRun(), RUN_EVENTS.succeeded, {}, T0),
    ...changes,
  });
  const ended = aRun({
    status: 'failed',
    closedAt: T0,
    expiresAt: 1_900_000_000,
    openShard: 'ENDED#1',
    seq: 3,
    outbox: outbox(),
    earlier: [1, 2].map((seq) => ({
      seq,
      type: RUN_EVENTS.started,
      time: new Date(T0 - MINUTE + seq).toISOString(),
      dataschema: 's',
      data: JSON.stringify({ seq }),
    })),
  });
  const tellAll = async (views: ViewRows) => {
    for (const seq of [1, 2, 3]) await views.addToTimeline(entryOf(`${RUN_ID}:${seq}`));
  };
  const entryOf = (eventId: string): TimelineEntry => ({
    runId: RUN_ID,
    time: new Date(T0).toISOString(),
    eventId,
    type: 't',
    source: RUN_ID,
    expiresAt: 1_900_000_000,
  });
  const AT = DUE + SECOND;

  test('retires what its close left, and lets it go once all is told', async () => {
    const { sweep, runNow, stepNow, answers, views, retold } = await sweepBench({
      run: ended,
      steps: [aDeadStep()],
      at: AT,
    });
    await tellAll(views);
    expect(await sweep()).toMatchObject({ checked: 0, failed: 0, ended: 1 });
    expect(await stepNow()).toMatchObject({ status: 'cancelled', expiresAt: expiryOf(T0) });
    expect(await runNow()).not.toHaveProperty('openShard');
    expect(answers.accepted).toEqual([]);
    expect(retold).toEqual([]);
    expect(await sweep()).toMatchObject({ ended: 0 });
  });

  test('of a version that kept it among the open ones', async () => {
    const { sweep, runNow, views } = await sweepBench({ run: { ...ended, openShard: 'OPEN#7' }, at: AT });
    await tellAll(views);
    expect(await sweep()).toMatchObject({ checked: 1 });
    expect(await runNow()).not.toHaveProperty('openShard');
  });

  test('tells again what the stream lost, each as it was, and looks again', async () => {
    const { sweep, runNow, views, retold, clock, log } = await sweepBench({ run: ended, at: AT });
    await views.addToTimeline(entryOf(`${RUN_ID}:2`));
    expect(await sweep()).toMatchObject({ ended: 1 });
    expect(retold.map((image) => eventOf(image))).toEqual([
      expect.objectContaining({ id: `${RUN_ID}:1`, type: RUN_EVENTS.started, data: { seq: 1 } }),
      expect.objectContaining({ id: `${RUN_ID}:3`, type: RUN_EVENTS.succeeded }),
    ]);
    expect(log.lines.map(({ message }) => message)).toContain('events that nobody had told are told again');
    expect(await runNow()).toMatchObject({ openShard: 'ENDED#1', checks: 1, checkAt: AT + 4 * MINUTE });
    await tellAll(views);
    clock.pass(5 * MINUTE);
    expect(await sweep()).toMatchObject({ ended: 1 });
    expect(await runNow()).not.toHaveProperty('openShard');
  });

  test('waits while the projector is behind, and while an event is young', async () => {
    const late = await sweepBench({ run: ended, at: AT });
    late.behind.push(...Array.from({ length: 11 }, String));
    await late.sweep();
    expect(late.retold).toEqual([]);
    expect(await late.runNow()).toMatchObject({ openShard: 'ENDED#1', checks: 1 });
    const young = await sweepBench({
      run: { ...ended, outbox: outbox({ time: new Date(AT - MINUTE).toISOString() }) },
      at: AT,
    });
    await young.views.addToTimeline(entryOf(`${RUN_ID}:1`));
    await young.views.addToTimeline(entryOf(`${RUN_ID}:2`));
    await young.sweep();
    expect(young.retold).toEqual([]);
    expect(await young.runNow()).toMatchObject({ openShard: 'ENDED#1' });
    const onlyYoung = await sweepBench({
      run: { ...ended, earlier: [], outbox: outbox({ time: new Date(AT - MINUTE).toISOString() }) },
      at: AT,
    });
    await onlyYoung.sweep();
    expect(await onlyYoung.runNow()).toMatchObject({ openShard: 'ENDED#1' });
  });

  test('has an end: after two hours it lets go, loudly', async () => {
    const { sweep, runNow, log } = await sweepBench({ run: { ...ended, checks: 5 }, at: AT });
    await sweep();
    expect(await runNow()).not.toHaveProperty('openShard');
    expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([
      { message: 'events of a run are told again and again and reach nobody' },
    ]);
  });

  test('that tells nothing, or nothing of this week, goes at once', async () => {
    const { outbox: _, earlier: __, ...silent } = ended;
    const { sweep, runNow } = await sweepBench({ run: silent, at: AT });
    await sweep();
    expect(await runNow()).not.toHaveProperty('openShard');
    const old = await sweepBench({ run: ended, at: T0 + 8 * 86_400_000 });
    await old.sweep();
    expect(old.retold).toEqual([]);
    expect(await old.runNow()).not.toHaveProperty('openShard');
  });

  test('is left for the next sweep when the time is over, and stays due when its look fails', async () => {
    const { sweep, runNow, memory } = await sweepBench({ run: ended, at: AT });
    expect(await sweep(AT - 1)).toMatchObject({ ended: 0 });
    expect(await runNow()).toEqual(ended);
    const slow = await sweepBench({
      run: ended,
      at: AT,
      ports: {
        store: {
          ...memory,
          openRuns: (shard, ...asked) => {
            if (shard === ended.openShard) slow.clock.pass(SECOND);
            return memory.openRuns(shard, ...asked);
          },
        },
      },
    });
    expect(await slow.sweep(AT)).toMatchObject({ ended: 0, failed: 0 });
    expect(await runNow()).toEqual(ended);
    const failing = await sweepBench({
      run: ended,
      at: AT,
      ports: { views: { timeline: () => Promise.reject(new PortUnavailable('throttled')) } },
    });
    expect(await failing.sweep()).toMatchObject({ ended: 0, failed: 1 });
    expect(await failing.runNow()).toEqual(ended);
  });

  test('that is gone, or open again by an old index, is passed over', async () => {
    const { sweep, runNow } = await sweepBench({ run: aRun({ openShard: 'ENDED#1', checkAt: T0 }), at: AT });
    expect(await sweep()).toMatchObject({ ended: 1 });
    expect(await runNow()).toMatchObject({ status: 'running', checks: 0 });
    const vanished = await sweepBench({ run: ended, at: AT });
    const gone = await sweepBench({
      run: ended,
      at: AT,
      ports: {
        store: { ...vanished.memory, update: async () => ({ written: false, item: undefined }) },
      },
    });
    expect(await gone.sweep()).toMatchObject({ ended: 1, failed: 0 });
  });
});
