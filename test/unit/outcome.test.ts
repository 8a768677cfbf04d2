import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { claimOf, verdictOn } from '#core/claim.ts';
import { exhaustOf, expireOf } from '#core/deaths.ts';
import type { TriedAndFailed } from '#core/failure.ts';
import { asStep, type StepItem, type TaskStatus } from '#core/items.ts';
import { commitOf, giveUpOf, isMyCommit, retryOf } from '#core/outcome.ts';
import type { Item, Update } from '#core/store.ts';
import { applied, holds } from '#core/store-rules.ts';
import {
  aClaim,
  aCommand,
  aDeadStep,
  aDoneStep,
  aStep,
  FIRST,
  MINUTE,
  reserve,
  SECOND_EXECUTION,
  T0,
} from '#test/examples.ts';

const allowed = (update: Update, step: StepItem): boolean => holds(update.when, step as unknown as Item);
const written = (update: Update, step: StepItem): StepItem =>
  asStep(applied(update, step as unknown as Item));

/** A task in the hands of its first worker. */
const claimed = written(claimOf(aClaim()), aStep());
const command = aCommand();
const now = T0 + 5000;
const tried: TriedAndFailed = {
  failure: { class: 'retryable', name: 'Timeout', message: 'no answer', fingerprint: 'f00d' },
  noEffect: false,
  retryAfterSeconds: 0,
};
const result = { text: '{"reservationId":"r-1"}', exposed: '{"reservationId":"r-1"}' };

/** Every write of a holder, by its name. */
const ofHolder: [string, (step: StepItem) => Update][] = [
  ['commit', (step) => commitOf(step, command, reserve, result, now)],
  ['retry', (step) => retryOf(step, tried, { notBefore: now, counted: true }, 'v1', now)],
  ['giving up', (step) => giveUpOf(step, command, 'permanent', tried, 'message-1', 'v1', now)],
];

describe.each(ofHolder)('%s', (_name, updateOf) => {
  test('is allowed to the holder of the claim and to nobody else', () => {
    const update = updateOf(claimed);
    expect(update.key).toEqual({ PK: claimed.PK, SK: claimed.SK });
    expect(allowed(update, claimed)).toBe(true);
    expect(allowed(update, { ...claimed, fence: 2 })).toBe(false);
    expect(allowed(update, { ...claimed, owner: 'other' })).toBe(false);
  });

  test.each<TaskStatus>(['ready', 'retrying', 'done', 'dead', 'cancelled', 'surplus'])(
    'is refused by a task that is %s, whatever its fence and owner',
    (status) => {
      expect(allowed(updateOf(claimed), { ...claimed, status })).toBe(false);
    },
  );

  test('is refused without an owner', () => {
    const { owner: _, ...ownerless } = claimed;
    expect(allowed(updateOf(ownerless), ownerless)).toBe(false);
  });
});

describe('commitOf', () => {
  test('stores the result and its event in one write, and ends the lease', () => {
    const done = written(commitOf(claimed, command, reserve, result, now), claimed);
    expect(done).toMatchObject({
      status: 'done',
      result: result.text,
      exposed: result.exposed,
      doneAt: now,
      seq: claimed.seq + 1,
      fence: claimed.fence,
      owner: claimed.owner,
      outbox: {
        type: 'inventory.stock.reserved',
        time: new Date(now).toISOString(),
        source: 'urn:edow:workflow:order',
        dataschema: 'urn:edow:schema:inventory.stock.reserved:2',
        tenant: 'acme',
        correlationid: 'corr-1',
        traceparent: command.traceparent,
      },
    });
    // The item's own result is the data: a lean outbox keeps the write small.
    expect(done.outbox).not.toHaveProperty('data');
    expect(done).not.toHaveProperty('leaseUntil');
    expect(done).not.toHaveProperty('resultRef');
  });

  test('a pointer replaces what an earlier result may have left', () => {
    const before = { ...claimed, result: 'old', exposed: 'old' };
    const done = written(commitOf(before, command, reserve, { ref: 's3://b/k#h' }, now), before);
    expect(done.resultRef).toBe('s3://b/k#h');
    expect(done).not.toHaveProperty('result');
    expect(done).not.toHaveProperty('exposed');
  });

  test('the event of a result says nothing of an earlier failure', () => {
    const died = written(giveUpOf(claimed, command, 'permanent', tried, 'message-1', 'v1', now), claimed);
    expect(died.outbox?.data).toBeDefined();
    const again = { ...claimed, fence: 2, outbox: died.outbox as NonNullable<StepItem['outbox']> };
    const done = written(commitOf(again, command, reserve, result, now), again);
    expect(done.outbox).not.toHaveProperty('data');
  });
});

test('isMyCommit: done by the same fence and owner', () => {
  const done = written(commitOf(claimed, command, reserve, result, now), claimed);
  expect(isMyCommit(claimed, done)).toBe(true);
  expect(isMyCommit(claimed, { ...done, fence: 2 })).toBe(false);
  expect(isMyCommit(claimed, { ...done, owner: 'other' })).toBe(false);
  expect(isMyCommit(claimed, claimed)).toBe(false);
  expect(isMyCommit(claimed, undefined)).toBe(false);
});

describe('retryOf', () => {
  test('gives the claim back until its time, with the try on record', () => {
    const update = retryOf(claimed, tried, { notBefore: now + 4000, counted: true }, 'v1', now);
    const waiting = written(update, claimed);
    expect(waiting).toMatchObject({
      status: 'retrying',
      notBefore: now + 4000,
      tries: 1,
      started: 1,
      clean: 0,
    });
    expect(waiting.attempts).toEqual([
      {
        fence: 1,
        startedAt: claimed.claimedAt,
        endedAt: now,
        class: 'retryable',
        name: 'Timeout',
        message: 'no answer',
        worker: 'v1',
      },
    ]);
    expect(waiting).not.toHaveProperty('owner');
    expect(waiting).not.toHaveProperty('leaseUntil');
    // A retry tells nothing: no event, and the number of the last one stays.
    expect(waiting.seq).toBe(claimed.seq);
    expect(waiting).not.toHaveProperty('outbox');
  });

  test('a deferral is no try', () => {
    const update = retryOf(claimed, tried, { notBefore: now, counted: false }, 'v1', now);
    expect(written(update, claimed)).toMatchObject({ tries: 0, started: 1, deferred: 1 });
  });

  test('a try without effect counts as clean', () => {
    const update = retryOf(
      claimed,
      { ...tried, noEffect: true },
      { notBefore: now, counted: true },
      'v1',
      now,
    );
    expect(written(update, claimed)).toMatchObject({ clean: 1, started: 1 });
  });

  test('keeps the newest 20 attempts', () => {
    const old = Array.from({ length: 20 }, (_, index) => ({
      fence: index + 1,
      startedAt: T0,
      endedAt: T0,
      class: 'retryable' as const,
      name: 'Timeout',
      message: 'no answer',
      worker: 'v1',
    }));
    const { claimedAt: _, ...step } = { ...claimed, fence: 21, attempts: old };
    const kept = written(retryOf(step, tried, { notBefore: now, counted: true }, 'v2', now), step).attempts;
    expect(kept?.map(({ fence }) => fence)).toEqual(Array.from({ length: 20 }, (_, index) => index + 2));
    // Without a known begin, a try has begun when it ended.
    expect(kept?.at(-1)).toMatchObject({ startedAt: now, endedAt: now, worker: 'v2' });
  });
});

const deaths: [string, Update, StepItem, object][] = [
  [
    'giving up',
    giveUpOf(claimed, command, 'permanent', tried, 'message-9', 'v1', now),
    claimed,
    { reason: 'permanent', failure: tried.failure },
  ],
  [
    'exhaustion',
    exhaustOf({ ...claimed, tries: 3, leaseUntil: T0 - MINUTE }, command, 'message-9', now),
    { ...claimed, tries: 3, leaseUntil: T0 - MINUTE },
    { reason: 'exhausted', failure: { class: 'retryable', name: 'WorkerLost' } },
  ],
  [
    'expiry',
    expireOf(aStep({ deadline: T0 }), command, 'message-9', now),
    aStep({ deadline: T0 }),
    { reason: 'expired', failure: { class: 'retryable', name: 'DeadlinePassed' } },
  ],
];

describe.each(deaths)('death by %s', (_name, update, step, expected) => {
  const dead = written(update, { ...step, execution: SECOND_EXECUTION, notBefore: T0, seq: 4, deaths: 1 });

  test('has its reason, time and message on record, and belongs to the present execution', () => {
    expect(dead).toMatchObject({
      ...expected,
      status: 'dead',
      deadAt: now,
      deadMessageId: 'message-9',
      deaths: 2,
      outcomeExecution: SECOND_EXECUTION,
    });
    for (const gone of ['owner', 'leaseUntil', 'notBefore']) expect(dead).not.toHaveProperty(gone);
  });

  test('tells what the index of dead letters shows, the message bounded and redacted', () => {
    expect(dead.seq).toBe(5);
    expect(dead.outbox).toMatchObject({
      type: 'edow.task.failed',
      dataschema: 'urn:edow:schema:edow.task.failed:1',
    });
    expect(JSON.parse(dead.outbox?.data ?? '')).toEqual({
      taskId: command.id,
      type: command.type,
      reason: dead.reason,
      tries: step.tries,
      error: dead.failure?.name,
      class: 'retryable',
      message: dead.failure?.message,
      fingerprint: dead.failure?.fingerprint,
      version: step.version,
      started: step.started,
      workers: dead.attempts?.length ? ['v1'] : [],
      firstAt: dead.attempts?.[0]?.startedAt ?? now,
      deaths: 1,
      replays: 0,
    });
  });
});

test('giving up records the last try, and that it was clean', () => {
  const clean = giveUpOf(claimed, command, 'permanent', { ...tried, noEffect: true }, 'message-1', 'v1', now);
  expect(written(clean, claimed)).toMatchObject({ clean: 1, attempts: [{ fence: 1, worker: 'v1' }] });
  const dirty = giveUpOf(claimed, command, 'permanent', tried, 'message-1', 'v1', now);
  expect(written(dirty, claimed).clean).toBe(0);
});

describe('a death that nobody holds', () => {
  const expire = expireOf(aStep({ deadline: T0 }), command, 'message-1', now);
  const exhaust = exhaustOf(aStep({ tries: 3 }), command, 'message-1', now);

  test.each<[string, Partial<StepItem>, boolean]>([
    ['ready', {}, true],
    ['retrying', { status: 'retrying' }, true],
    ['claimed, lease over for 15 s', { status: 'claimed', leaseUntil: now - 15_000 }, false],
    ['claimed, lease over for longer', { status: 'claimed', leaseUntil: now - 15_001 }, true],
    ['claimed without an end', { status: 'claimed' }, false],
    ['done', { status: 'done' }, false],
    ['dead', { status: 'dead' }, false],
    ['cancelled', { status: 'cancelled' }, false],
  ])('%s', (_what, changes, expected) => {
    expect(allowed(expire, aStep({ deadline: T0, ...changes }))).toBe(expected);
    expect(allowed(exhaust, aStep({ tries: 3, ...changes }))).toBe(expected);
  });

  test('is refused when what was read has changed since', () => {
    expect(allowed(expire, aStep({ deadline: T0 + 1 }))).toBe(false);
    expect(allowed(expire, aStep({ deadline: T0, execution: SECOND_EXECUTION }))).toBe(false);
    expect(allowed(exhaust, aStep({ tries: 3, fence: 1 }))).toBe(false);
    expect(allowed(exhaust, aStep({ tries: 2 }))).toBe(false);
  });

  test('is allowed wherever the verdict is that a task is exhausted', () => {
    const step = fc
      .record({
        status: fc.constantFrom<TaskStatus>('ready', 'retrying', 'claimed'),
        tries: fc.integer({ min: 0, max: 4 }),
        leaseUntil: fc.option(fc.integer({ min: T0 - 40_000, max: T0 + 1000 }), { nil: undefined }),
        notBefore: fc.option(fc.integer({ min: T0 - 1000, max: T0 + 1000 }), { nil: undefined }),
      })
      .map((changes) => aStep({ ...(changes as Partial<StepItem>), execution: FIRST }));
    let exhausted = 0;
    fc.assert(
      fc.property(step, (item) => {
        if (verdictOn(item, aClaim({ now: T0 })).act !== 'exhaust') return;
        exhausted += 1;
        expect(allowed(exhaustOf(item, command, 'message-1', T0), item)).toBe(true);
      }),
      { numRuns: 500 },
    );
    expect(exhausted).toBeGreaterThan(50);
  });
});

test('no death and no try follows a finished task', () => {
  for (const step of [aDoneStep(), aDeadStep()]) {
    expect(allowed(exhaustOf(step, command, 'message-1', now), step)).toBe(false);
    expect(allowed(expireOf(step, command, 'message-1', now), step)).toBe(false);
  }
});

describe('an outbox that is replaced', () => {
  const first = written(giveUpOf(claimed, command, 'permanent', tried, 'message-1', 'v1', now), claimed);
  const again = { ...first, status: 'claimed', owner: claimed.owner } as StepItem;

  test('is kept, with its number, by the next outcome; a first one keeps nothing', () => {
    expect(first).not.toHaveProperty('earlier');
    const done = written(commitOf(again, command, reserve, { text: '1' }, now), again);
    const { type, time, dataschema, data } = first.outbox ?? ({} as never);
    expect(done.earlier).toEqual([{ seq: first.seq, type, time, dataschema, data }]);
  });

  test('with the twelve newest at most', () => {
    let item = again;
    for (let death = 0; death < 15; death += 1)
      item = {
        ...written(giveUpOf(item, command, 'permanent', tried, 'm', 'v1', now), item),
        status: 'claimed',
        owner: claimed.owner,
      } as StepItem;
    expect(item.earlier?.map(({ seq }) => seq)).toEqual(
      Array.from({ length: 12 }, (_, index) => item.seq - 12 + index),
    );
  });
});
