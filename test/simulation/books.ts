/** What was seen from outside, apart from the books of the code under test. */
import type { Envelope } from '#core/envelope.ts';
import { asRun, asStep, isRefused, type RunItem, type StepItem, taskIdOf } from '#core/items.ts';
import type { Item } from '#core/store.ts';
import { MODES, type Plan, type PlannedRun, type PlannedStep } from './plan.ts';
import type { Change } from './tables.ts';

/** One run of a handler, in true time. */
export interface HandlerRun {
  readonly taskId: string;
  readonly startedAt: number;
  endedAt: number | undefined;
  /** What it answers when all goes well. */
  readonly result: unknown;
  /** The handler said that nothing happened, or a person has found out: an `atMostOnce` task may be handled again. */
  clean?: boolean;
}

export interface Books {
  /** First invariant that was seen broken. */
  readonly broken: string[];
  breaks(invariant: string): void;
  /** Runs of handlers by task. */
  readonly attempts: Map<string, HandlerRun[]>;
  /** Effects outside our books by idempotency key. */
  readonly effects: Map<string, number>;
  /** Runs that were put, by their id. */
  readonly planned: Map<string, PlannedRun>;
  /** Events that must be told, by id, and to whom they were. */
  readonly expected: Map<string, { type: string; lost: boolean; content: string; told: Set<string> }>;
  readonly doneAt: Map<string, number>;
  /** Rounds of tries that were granted, by task: a later execution, or an operator's copy. */
  readonly rounds: Map<string, number>;
  /** Messages that were sent back on purpose, by task. */
  readonly sentBack: Map<string, number>;
  /** Logged reasons by message. */
  readonly reasons: Map<string, string>;
  /** Since when a run has been running, and what it is now. */
  readonly running: Map<string, number>;
  readonly accepted: Map<string, string>;
  /** Begin of the last sweep that went through without an error. */
  readonly swept: { last: number };
  follow(change: Change): void;
  begins(taskId: string, result: unknown): HandlerRun;
  /** A person has found out what became of a task. */
  settled(taskId: string): void;
  typeOf(taskId: string): string;
  /** A command of an ordered pool came to its queue. */
  arrived(taskId: string, lane: string): void;
  /** A message of it died with no death on record: the order of its lane is not promised. */
  diedUnseen(lane: string): void;
  /** The try was deferred: it does not count. */
  deferred(taskId: string): void;
  /** A state was told that its task failed in this execution. */
  failed(taskId: string, execution: number): void;
  /** An effect, which may come after the end of its sender. */
  effect(run: HandlerRun): void;
  told(subscriber: string, event: Envelope): void;
  /** The stream lost this change before relay saw it. */
  lost(item: Item): void;
}

/** Who reads the topic of events. */
export const SUBSCRIBERS = ['project', 'audit'] as const;

/** Two clocks, and some time on the way. */
const CLOCKS_MS = 15_000;
/** Between the read that found a task dead and the answer that says so. */
const STALE_MS = 20_000;
/** The lease is by its holder's clock. */
const SKEW_MS = 5000;
const pairValue = ({ execution, entry }: StepItem): number => execution * 1000 + entry;

export function booksOf(plan: Plan, now: () => number): Books {
  const broken: string[] = [];
  const attempts = new Map<string, HandlerRun[]>();
  const planned = new Map<string, PlannedRun>();
  const effects = new Map<string, number>();
  const expected: Books['expected'] = new Map();
  const doneAt = new Map<string, number>();
  const rounds = new Map<string, number>();
  const sentBack = new Map<string, number>();
  const reasons = new Map<string, string>();
  const running = new Map<string, number>();
  const accepted = new Map<string, string>();
  const triesInRound = new Map<string, number>();
  const claims = new Map<string, { count: number; deferring: boolean }>();
  const lastDead = new Map<string, number>();
  const ended = new Set<string>();
  /** Tasks whose step came after the end of their run: a look at the run would have told, and none may begin. */
  const tooLate = new Set<string>();
  const breaks = (invariant: string): void => {
    broken.push(invariant);
  };
  const bump = (map: Map<string, number>, key: string): void => {
    map.set(key, (map.get(key) ?? 0) + 1);
  };

  const lanes = new Map<string, string[]>();
  const laneOf = new Map<string, string>();
  const disordered = new Set<string>();
  const finished = new Set<string>();

  /** Nothing of a key begins while another of its tasks is worked on, or before what came earlier is finished. */
  function checkOrder(taskId: string): void {
    const lane = laneOf.get(taskId);
    if (lane === undefined) return;
    for (const other of lanes.get(lane) ?? []) {
      if (other === taskId) break;
      if (!finished.has(other) && !disordered.has(lane))
        breaks(`7: ${taskId} began before ${other}, which came earlier in its key`);
    }
    for (const other of lanes.get(lane) ?? [])
      if (other !== taskId && (attempts.get(other) ?? []).some(isOpen))
        breaks(`7: ${taskId} began while ${other} of its key was worked on`);
  }

  const isOpen = ({ endedAt }: HandlerRun): boolean => endedAt === undefined || endedAt > now();
  const steps = new Map<string, PlannedStep | undefined>();
  const stepOf = (taskId: string): PlannedStep | undefined => {
    const known = steps.get(taskId);
    if (known !== undefined) return known;
    const [runId = '', stepKey] = taskId.split('/');
    const step = planned
      .get(runId)
      ?.workflow.groups.flat()
      .find((one) => one.stepKey === stepKey);
    steps.set(taskId, step);
    return step;
  };

  function expect(id: string, type: string | undefined, content: string): void {
    if (expected.has(id)) breaks(`3: event ${id} would be told for two changes`);
    expected.set(id, { type: type ?? 'nothing', lost: false, content, told: new Set() });
  }

  /** Claims of a round, deferrals apart: what the limit of tries is held against. */
  function followClaims(taskId: string, before: StepItem | undefined, after: StepItem): void {
    const round = claims.get(taskId) ?? { count: 0, deferring: false };
    claims.set(taskId, round);
    if (after.status === 'claimed' && before?.fence !== after.fence) {
      round.count = before?.status === 'dead' ? 1 : round.count + 1;
      round.deferring = false;
    } else if (after.status === 'retrying' && before?.status !== 'retrying') {
      if (before?.status === 'dead') round.count = 0;
      else if (round.deferring) round.count -= 1;
      round.deferring = false;
    }
    const allowed = stepOf(taskId)?.tries ?? 0;
    if (
      after.status === 'dead' &&
      before?.status !== 'dead' &&
      after.reason === 'exhausted' &&
      round.count < allowed
    )
      breaks(`6: ${taskId} is exhausted after ${round.count} of ${allowed} tries`);
  }

  const diesHere = (step: StepItem): boolean =>
    step.status === 'dead' && step.outcomeExecution === step.execution;

  function followStep(before: StepItem | undefined, after: StepItem): void {
    const taskId = taskIdOf(after.runId, after.stepKey);
    if (before === undefined && ended.has(after.runId)) tooLate.add(taskId);
    followClaims(taskId, before, after);
    if (diesHere(after)) lastDead.set(`${taskId}#${after.execution}`, Number.POSITIVE_INFINITY);
    else if (before && diesHere(before)) lastDead.set(`${taskId}#${before.execution}`, now());
    if (before && pairValue(after) < pairValue(before))
      breaks(`10: an older entry of ${taskId} took the step from a newer one`);
    if (before?.status === after.status) return;
    if (['done', 'cancelled', 'surplus'].includes(after.status) || isRefused(after)) finished.add(taskId);
    if (
      before?.status === 'claimed' &&
      after.status === 'retrying' &&
      after.attempts?.at(-1)?.fence !== after.fence
    )
      breaks(`2: the outcome of an older claim of ${taskId} was written over a newer claim`);
    const held = before?.status === 'claimed' && (before.leaseUntil ?? 0) > now() + SKEW_MS;
    if (after.status === 'dead' && after.reason === 'expired' && held)
      breaks(`2: ${taskId} expired in the hands of a worker`);
    if (after.status === 'dead' && after.reason === 'expired' && after.deadline > now() + CLOCKS_MS)
      breaks(`5: ${taskId} expired before its deadline`);
    if (before?.status === 'done') breaks(`2: ${taskId} was done and became ${after.status}`);
    if (before?.status === 'cancelled') breaks(`4: ${taskId} was cancelled and became ${after.status}`);
    if (before?.status === 'dead' && after.status === 'claimed') {
      if ((sentBack.get(taskId) ?? 0) === 0) breaks(`6: ${taskId} was revived though nobody sent it back`);
      triesInRound.set(taskId, 0);
      bump(rounds, taskId);
    }
    if (before?.status === 'dead' && after.status === 'retrying') {
      if ((before.outcomeExecution ?? 0) >= after.execution && after.resolvedBy?.how !== 'retry')
        breaks(`6: ${taskId} was reset by the execution in which it died`);
      triesInRound.set(taskId, 0);
      bump(rounds, taskId);
    }
    if (after.status === 'done') {
      if (doneAt.has(taskId)) breaks(`2: ${taskId} was committed twice`);
      doneAt.set(taskId, now());
    }
    if (after.status === 'done' || after.status === 'dead')
      expect(
        `${taskId}:${after.seq}`,
        after.outbox?.type,
        after.result ?? after.resultRef ?? after.reason ?? '',
      );
  }

  function followRun(before: RunItem | undefined, after: RunItem): void {
    const asked = plan.runs.find(({ key }) => key === after.correlationId);
    if (before === undefined && asked) planned.set(after.runId, asked);
    if (before?.status === after.status && before.execution === after.execution) return;
    if (before?.status === 'succeeded' || before?.status === 'failed')
      breaks(`1: run ${after.runId} had ${before.status} and became ${after.status}`);
    if (after.status === 'succeeded' || after.status === 'failed') ended.add(after.runId);
    if (after.status === 'running') running.set(after.runId, now());
    else running.delete(after.runId);
    expect(`${after.runId}:${after.seq}`, after.outbox?.type, '');
  }

  return {
    broken,
    breaks,
    attempts,
    effects,
    planned,
    expected,
    doneAt,
    rounds,
    sentBack,
    reasons,
    running,
    accepted,
    swept: { last: Number.NEGATIVE_INFINITY },
    follow({ before, after }: { before: Item | undefined; after: Item }) {
      if (after.SK === 'RUN') followRun(before && asRun(before), asRun(after));
      else if (after.SK.startsWith('STEP#')) followStep(before && asStep(before), asStep(after));
    },
    typeOf: (taskId) => stepOf(taskId)?.type ?? '',
    settled(taskId) {
      for (const run of attempts.get(taskId) ?? []) run.clean = true;
    },
    arrived(taskId, lane) {
      laneOf.set(taskId, lane);
      const line = lanes.get(lane) ?? [];
      lanes.set(lane, line);
      if (!line.includes(taskId)) line.push(taskId);
    },
    diedUnseen: (lane) => void disordered.add(lane),
    begins(taskId, result) {
      const run: HandlerRun = { taskId, startedAt: now(), endedAt: undefined, result };
      const earlier = attempts.get(taskId) ?? [];
      if (MODES[stepOf(taskId)?.type ?? ''] === 'atMostOnce' && earlier.some(({ clean }) => !clean))
        breaks(`2: ${taskId} was handled again though its effect may have happened`);
      checkOrder(taskId);
      if (earlier.some(isOpen)) breaks(`2: two attempts of ${taskId} at the same time`);
      if (tooLate.has(taskId)) breaks(`4: ${taskId} began though it was entered after the end of its run`);
      if (doneAt.has(taskId)) breaks(`9: ${taskId} was attempted again though it was done`);
      attempts.set(taskId, [...earlier, run]);
      const before = triesInRound.get(taskId) ?? 0;
      triesInRound.set(taskId, before + 1);
      const allowed = stepOf(taskId)?.tries ?? 0;
      if (before >= allowed)
        breaks(`6: attempt ${before + 1} of ${taskId} in one round, allowed are ${allowed}`);
      return run;
    },
    failed(taskId, execution) {
      const seen = lastDead.get(`${taskId}#${execution}`);
      if (seen === undefined)
        breaks(`10: ${taskId} was answered as failed for an execution in which it did not die`);
      else if (seen < now() - STALE_MS) breaks(`10: ${taskId} was answered as failed long after it was dead`);
    },
    deferred(taskId) {
      const round = claims.get(taskId);
      if (round) round.deferring = true;
      triesInRound.set(taskId, (triesInRound.get(taskId) ?? 1) - 1);
    },
    effect(run) {
      bump(effects, run.taskId);
      if (run.endedAt === undefined) return;
      run.endedAt = now();
      const others = (attempts.get(run.taskId) ?? []).filter((other) => other !== run);
      if (others.some((other) => isOpen(other) && other.startedAt > run.startedAt))
        breaks(`2: a late effect of ${run.taskId} fell into its next attempt`);
    },
    lost(item) {
      const subject =
        item.SK === 'RUN' ? asRun(item).runId : taskIdOf(asStep(item).runId, asStep(item).stepKey);
      const known = expected.get(`${subject}:${item['seq']}`);
      if (known) known.lost = true;
    },
    told(subscriber, event) {
      const known = expected.get(event.id);
      if (known === undefined) breaks(`3: event ${event.id} tells what is not on record`);
      else {
        if (known.type !== event.type) breaks(`3: event ${event.id} is ${event.type}, not ${known.type}`);
        known.told.add(subscriber);
      }
    },
  };
}
