import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ClaimRequest,
  claimOf,
  hasOtherData,
  noteMetOf,
  reviveOf,
  type Verdict,
  verdictOn,
} from '#core/claim.ts';
import type { Command } from '#core/envelope.ts';
import { asStep, type DeadReason, type StepItem, type TaskStatus } from '#core/items.ts';
import { LEASE_GRACE_MS } from '#core/retry.ts';
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
  SECOND,
  SECOND_EXECUTION,
  T0,
} from '#test/examples.ts';

const asItem = (step: StepItem | undefined): Item | undefined => step as Item | undefined;
const allowed = (update: Update, step: StepItem | undefined): boolean => holds(update.when, asItem(step));
const written = (update: Update, step: StepItem): StepItem => asStep(applied(update, asItem(step)));
const aClaimedStep = (changes: Partial<StepItem> = {}): StepItem =>
  aStep({ status: 'claimed', fence: 1, tries: 1, started: 1, owner: 'other', leaseUntil: T0, ...changes });

describe('claimOf', () => {
  test('takes a ready task: fence, tries, started, owner, lease, outcome execution and the pair met', () => {
    const step = aStep({ execution: SECOND_EXECUTION });
    const request = aClaim({ owner: 'me', now: T0 + 5, leaseUntil: T0 + 30_000 });
    expect(allowed(claimOf(request), step)).toBe(true);
    expect(written(claimOf(request), step)).toEqual({
      ...step,
      status: 'claimed',
      fence: 1,
      tries: 1,
      started: 1,
      owner: 'me',
      leaseUntil: T0 + 30_000,
      claimedAt: T0 + 5,
      outcomeExecution: SECOND_EXECUTION,
      met: new Set([`${FIRST}.0`]),
      digest: expect.stringMatching(/^[\w-]{16}$/),
    });
  });

  test.each<[string, Partial<Command>, boolean]>([
    ['the same data', {}, false],
    ['other data', { data: { orderId: 'o-2' } }, true],
    ['a pointer instead of data', { data: undefined, dataref: 's3://b/k#h' }, true],
    ['no data at all', { data: undefined }, true],
    ['other data of an entry that was not met: the task was entered anew', { entry: 1, data: 7 }, false],
  ])('a later copy with %s', (_what, changes, other) => {
    const claimed = written(claimOf(aClaim()), aStep());
    expect(hasOtherData(claimed, aCommand(changes))).toBe(other);
    expect(hasOtherData(aStep(), aCommand(changes))).toBe(false);
    expect(hasOtherData({ ...claimed, met: new Set() }, aCommand(changes))).toBe(false);
    const { met: _met, ...unmet } = claimed;
    expect(hasOtherData(unmet, aCommand(changes))).toBe(false);
  });

  test('counts on over the rounds of a task and forgets the wait', () => {
    const step = aStep({ status: 'retrying', fence: 4, tries: 2, started: 7, notBefore: T0 });
    const claimed = written(claimOf(aClaim()), step);
    expect(claimed).toMatchObject({ status: 'claimed', fence: 5, tries: 3, started: 8 });
    expect(claimed).not.toHaveProperty('notBefore');
  });

  const now = T0 + 10 * MINUTE;
  test.each<[string, StepItem | undefined, boolean]>([
    ['no item', undefined, false],
    ['ready', aStep(), true],
    ['retrying, no wait', aStep({ status: 'retrying' }), true],
    ['retrying, wait just over', aStep({ status: 'retrying', notBefore: now }), true],
    ['retrying, a wait ahead', aStep({ status: 'retrying', notBefore: now + 1 }), false],
    ['claimed, lease ended 15 s ago', aClaimedStep({ leaseUntil: now - 15_000 }), false],
    ['claimed, lease ended longer ago', aClaimedStep({ leaseUntil: now - 15_001 }), true],
    ['claimed, lease ahead', aClaimedStep({ leaseUntil: now + 1 }), false],
    ['one try left', aStep({ status: 'retrying', tries: 2 }), true],
    ['no try left', aStep({ status: 'retrying', tries: 3 }), false],
    ['no try left, lease long over', aClaimedStep({ tries: 3 }), false],
    ['done', aDoneStep(), false],
    ['dead', aDeadStep({ tries: 0 }), false],
    ['cancelled', aStep({ status: 'cancelled' }), false],
    ['surplus', aStep({ status: 'surplus' }), false],
  ])('%s', (_what, step, expected) => {
    expect(allowed(claimOf(aClaim({ now })), step)).toBe(expected);
  });
});

describe('verdictOn', () => {
  const now = T0 + 10 * MINUTE;
  const verdict = (step: StepItem | undefined, request: Partial<ClaimRequest> = {}): Verdict =>
    verdictOn(step, aClaim({ now, sentAt: now, ...request }));

  test.each<[string, StepItem | undefined, object]>([
    ['a message without a step burns', undefined, { act: 'burn', note: false }],
    ['done is acked', aDoneStep(), { act: 'ack' }],
    ['surplus is acked', aStep({ status: 'surplus' }), { act: 'ack' }],
    ['cancelled is acked', aStep({ status: 'cancelled' }), { act: 'ack' }],
    ['ready may be claimed', aStep(), { act: 'claim' }],
    [
      'retrying may be claimed after its wait',
      aStep({ status: 'retrying', notBefore: now }),
      { act: 'claim' },
    ],
    [
      'a wait ahead is waited out in whole seconds',
      aStep({ status: 'retrying', notBefore: now + 1500 }),
      { act: 'wait', seconds: 2 },
    ],
    [
      "another's live lease is waited out, and its grace",
      aClaimedStep({ leaseUntil: now + 5000 }),
      { act: 'wait', seconds: 21 },
    ],
    [
      'a lease is respected for 15 s more',
      aClaimedStep({ leaseUntil: now - 15_000 }),
      { act: 'wait', seconds: 1 },
    ],
    ['a lease long over may be claimed', aClaimedStep({ leaseUntil: now - 15_001 }), { act: 'claim' }],
    ['a claim whose lease has no end is never taken over', aStep({ status: 'claimed' }), { act: 'wait' }],
    ['a lost worker on the last try is exhausted', aClaimedStep({ tries: 3 }), { act: 'exhaust' }],
    ['no try left is exhausted', aStep({ status: 'retrying', tries: 3 }), { act: 'exhaust' }],
    [
      'my own claim is mine, even when its lease is over',
      aClaimedStep({ owner: 'owner-1' }),
      { act: 'mine' },
    ],
  ])('%s', (_what, step, expected) => {
    expect(verdict(step)).toMatchObject(expected);
  });

  test('the item is handed on where a write depends on it', () => {
    const lost = aClaimedStep({ tries: 3 });
    const mine = aClaimedStep({ owner: 'owner-1' });
    const dead = aDeadStep();
    expect(verdict(lost)).toEqual({ act: 'exhaust', item: lost });
    expect(verdict(mine)).toEqual({ act: 'mine', item: mine });
    expect(verdict(dead, { replay: 1 })).toEqual({ act: 'revive', item: dead });
  });

  describe('of a dead task', () => {
    const diedAt = T0 + MINUTE;
    const redrive = { messageId: 'message-2', sentAt: diedAt + LEASE_GRACE_MS + 1 };
    const dead = aDeadStep({ deadAt: diedAt, deadMessageId: 'message-1' });

    test('a redrive revives: another message, sent later than 15 s after the death, of a pair met', () => {
      expect(verdict(dead, redrive)).toMatchObject({ act: 'revive' });
    });

    test.each<[string, StepItem, Partial<ClaimRequest>, boolean]>([
      ['the message that it died on', dead, { ...redrive, messageId: 'message-1' }, false],
      ['a copy sent within 15 s of the death', dead, { ...redrive, sentAt: diedAt + LEASE_GRACE_MS }, false],
      ['a copy of a pair never met', aDeadStep({ met: new Set(['10000.7']) }), redrive, true],
      ['a copy when no pair was ever met', aStep({ status: 'dead', deadAt: diedAt }), redrive, true],
      ['an outcome not known, which needs a person', aDeadStep({ reason: 'unknown' }), redrive, false],
      ['a replay of an outcome not known', aDeadStep({ reason: 'unknown' }), { replay: 9 }, false],
      [
        'a replay that revived it before',
        aDeadStep({ replay: 2 }),
        { replay: 2, messageId: 'message-1' },
        false,
      ],
    ])('%s burns', (_what, step, request, note) => {
      expect(verdict(step, request)).toEqual({ act: 'burn', note });
    });

    test('a replay revives once by its number, whatever its message and time', () => {
      const same = { messageId: 'message-1', sentAt: 0 };
      expect(verdict(dead, { ...same, replay: 1 })).toMatchObject({ act: 'revive' });
      expect(verdict(aDeadStep({ replay: 1 }), { ...same, replay: 1 })).toMatchObject({ act: 'burn' });
      expect(verdict(aDeadStep({ replay: 1 }), { ...same, replay: 2 })).toMatchObject({ act: 'revive' });
    });

    test('a death without a time is older than any copy', () => {
      const { deadAt: _, ...timeless } = aDeadStep();
      expect(verdict(timeless, { messageId: 'message-2', sentAt: LEASE_GRACE_MS + 1 })).toMatchObject({
        act: 'revive',
      });
    });

    test('a pair is noted once; a copy of it that is sent later than 15 s after that is a redrive', () => {
      const fresh = aClaim({ command: aCommand({ execution: SECOND_EXECUTION }), now, ...redrive });
      expect(verdictOn(dead, fresh)).toEqual({ act: 'burn', note: true });
      expect(allowed(noteMetOf(fresh), dead)).toBe(true);
      const noted = written(noteMetOf(fresh), dead);
      expect(noted).toEqual({
        ...dead,
        met: new Set([`${FIRST}.0`, `${SECOND_EXECUTION}.0`]),
        metAt: now,
      });
      const sent = (sentAt: number) => verdictOn(noted, { ...fresh, sentAt });
      expect(sent(now + LEASE_GRACE_MS)).toEqual({ act: 'burn', note: false });
      expect(sent(now + LEASE_GRACE_MS + 1)).toMatchObject({ act: 'revive' });
    });

    test('the copy that was noted burns on: it comes back by its receives, nobody sent it', () => {
      const late = aClaim({
        command: aCommand({ entry: 1 }),
        messageId: 'message-2',
        sentAt: diedAt + 10 * MINUTE,
        now: diedAt + 10 * MINUTE,
      });
      expect(verdictOn(dead, late)).toEqual({ act: 'burn', note: true });
      const noted = written(noteMetOf(late), dead);
      expect(verdictOn(noted, { ...late, now: late.now + 1 })).toEqual({ act: 'burn', note: false });
      expect(verdictOn(noted, { ...late, now: late.now + 10 * MINUTE })).toEqual({
        act: 'burn',
        note: false,
      });
    });

    test('a pair is noted on dead tasks only', () => {
      expect(allowed(noteMetOf(aClaim()), aStep())).toBe(false);
      expect(allowed(noteMetOf(aClaim()), undefined)).toBe(false);
    });
  });
});

describe('reviveOf', () => {
  const dead = aDeadStep({ execution: SECOND_EXECUTION, deferred: 4 });

  test('begins a new round of tries and keeps what counts over all rounds', () => {
    const request = aClaim({ owner: 'me', replay: 2 });
    const revived = written(reviveOf(request, dead), dead);
    expect(revived).toMatchObject({
      status: 'claimed',
      tries: 1,
      fence: 4,
      started: 4,
      owner: 'me',
      leaseUntil: request.leaseUntil,
      replay: 2,
      deaths: 1,
      outcomeExecution: SECOND_EXECUTION,
    });
    expect(revived).not.toHaveProperty('reason');
    expect(revived).not.toHaveProperty('failure');
    expect(revived).not.toHaveProperty('deferred');
  });

  test('never lowers the number of the last replay', () => {
    const step = aDeadStep({ replay: 3 });
    expect(written(reviveOf(aClaim({ replay: 0 }), step), step).replay).toBe(3);
  });

  test('only the death that was looked at, so that two redrives revive once', () => {
    const update = reviveOf(aClaim(), dead);
    expect(allowed(update, dead)).toBe(true);
    expect(allowed(update, written(update, dead))).toBe(false);
    expect(allowed(update, { ...dead, fence: 4 })).toBe(false);
    expect(allowed(update, { ...dead, seq: 2 })).toBe(false);
    expect(allowed(update, { ...dead, status: 'retrying' })).toBe(false);
  });
});

// Instants close to one another, so that every comparison is met from both sides and at its edge.
const instant = fc
  .oneof(
    fc.integer({ min: -20_000, max: 20_000 }),
    fc.constantFrom(-LEASE_GRACE_MS - 1, -LEASE_GRACE_MS, -LEASE_GRACE_MS + 1, -1, 0, 1),
  )
  .map((offset) => T0 + offset);
// Made once: a property asks for thousands.
const plainStep = aStep();
const plainClaim = aClaim();
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const item = fc
  .record({
    status: fc.constantFrom<TaskStatus>(
      'ready',
      'claimed',
      'retrying',
      'done',
      'dead',
      'cancelled',
      'surplus',
    ),
    tries: fc.integer({ min: 0, max: 4 }),
    fence: fc.integer({ min: 0, max: 5 }),
    owner: fc.constantFrom('owner-1', 'other', undefined),
    leaseUntil: maybe(instant),
    notBefore: maybe(instant),
    deadAt: maybe(instant),
    deadMessageId: fc.constantFrom('message-1', 'message-2', undefined),
    reason: fc.constantFrom<DeadReason>('exhausted', 'unknown'),
    replay: maybe(fc.integer({ min: 0, max: 2 })),
    met: fc.constantFrom(new Set([`${FIRST}.0`]), new Set(['1.1']), undefined),
  })
  .map((changes) => ({ ...plainStep, ...(changes as Partial<StepItem>) }));
const request = fc
  .record({ now: instant, sentAt: instant, replay: fc.integer({ min: 0, max: 2 }) })
  .map((changes) => ({ ...plainClaim, ...changes }));

describe('condition and verdict agree about every item at every instant', () => {
  test('what the condition refuses is never found claimable; what it allows is claimable or mine', () => {
    const seen = { allowed: 0, refused: 0 };
    fc.assert(
      fc.property(fc.option(item, { nil: undefined }), request, (step, claim) => {
        const { act } = verdictOn(step, claim);
        if (allowed(claimOf(claim), step)) {
          seen.allowed += 1;
          expect(['claim', 'mine']).toContain(act);
        } else {
          seen.refused += 1;
          expect(act).not.toBe('claim');
        }
      }),
      { numRuns: 1500 },
    );
    expect(seen.allowed).toBeGreaterThan(100);
    expect(seen.refused).toBeGreaterThan(100);
  });

  test('after the wait that a verdict names, the task may be claimed or is out of tries', () => {
    let waits = 0;
    fc.assert(
      fc.property(item, request, (step, claim) => {
        const verdict = verdictOn(step, claim);
        if (verdict.act !== 'wait' || (step.status === 'claimed' && step.leaseUntil === undefined)) return;
        waits += 1;
        expect(Number.isInteger(verdict.seconds)).toBe(true);
        const later = { ...claim, now: claim.now + verdict.seconds * SECOND };
        expect(['claim', 'exhaust']).toContain(verdictOn(step, later).act);
      }),
      { numRuns: 1000 },
    );
    expect(waits).toBeGreaterThan(50);
  });

  test('a dead task is never claimed, and revived only by a copy that was sent back', () => {
    fc.assert(
      fc.property(item, request, (step, claim) => {
        const dead = { ...step, status: 'dead' as const };
        const { act } = verdictOn(dead, claim);
        expect(['burn', 'revive']).toContain(act);
        if (act !== 'revive') return;
        const sentBack = claim.messageId !== dead.deadMessageId && claim.sentAt > (dead.deadAt ?? 0) + 15_000;
        expect(claim.replay > (dead.replay ?? 0) || sentBack).toBe(true);
        expect(dead.reason).not.toBe('unknown');
      }),
      { numRuns: 1000 },
    );
  });
});
