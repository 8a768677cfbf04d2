/** Items, commands and deliveries as core makes them; a test changes what it is about. */
import * as z from 'zod/mini';
import type { ClaimRequest } from '#core/claim.ts';
import { defineTask, type TaskContract } from '#core/contract.ts';
import { enterStepOf } from '#core/dispatch.ts';
import type { DispatchRequest } from '#core/dispatch-request.ts';
import type { Command } from '#core/envelope.ts';
import { commandOf } from '#core/envelope.ts';
import { asStep, executionOrder, type RunItem, runKey, type StepItem, taskIdOf } from '#core/items.ts';
import type { Item, Store } from '#core/store.ts';
import { all } from '#core/store.ts';
import { applied } from '#core/store-rules.ts';

/** 1 November 2026, 12:00 UTC: the time at which all examples are entered. */
export const T0 = Date.UTC(2026, 10, 1, 12);
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const RUN_ID = '01K8ZZ00000000000000000007';
export const FIRST = executionOrder(1, 0);
export const SECOND_EXECUTION = executionOrder(2, 0);
export const DEPLOYED = {
  stateMachineArn: 'arn:aws:states:eu-west-1:000000000000:stateMachine:order',
  definition: 'd1',
};

export const reserve = defineTask({
  type: 'inventory.stock.reserve',
  version: 2,
  input: z.object({ orderId: z.string() }),
  output: z.object({ reservationId: z.string(), customer: z.optional(z.string()) }),
  event: 'inventory.stock.reserved',
  expose: ['reservationId'],
  retry: { tries: 3 },
  timeoutSeconds: 600,
  undo: 'inventory.stock.release',
});

export const aRun = (changes: Partial<RunItem> = {}): RunItem => ({
  ...runKey(RUN_ID),
  runId: RUN_ID,
  workflow: 'order',
  definition: DEPLOYED.definition,
  tenant: 'acme',
  status: 'running',
  execution: 1,
  redrive: 0,
  input: JSON.stringify({ orderId: 'o-1' }),
  correlationId: 'corr-1',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  startedAt: T0,
  updatedAt: T0,
  resumes: 0,
  seq: 1,
  checks: 0,
  openShard: 'OPEN#7',
  checkAt: T0 + 2 * MINUTE,
  ...changes,
});

export const aDispatch = (changes: Partial<DispatchRequest> = {}): DispatchRequest => ({
  token: 'token-1',
  runId: RUN_ID,
  workflow: 'order',
  execution: 1,
  redrive: 0,
  entry: 0,
  entered: new Date(T0).toISOString(),
  step: 'Reserve',
  task: { type: reserve.type, version: reserve.version, tries: reserve.retry.tries },
  timeoutSeconds: reserve.timeoutSeconds,
  input: { orderId: { $from: 'input', path: ['orderId'] } },
  ...changes,
});

/** A step just entered, then changed. */
export const aStep = (changes: Partial<StepItem> = {}): StepItem => ({
  ...asStep(applied(enterStepOf(aDispatch()), undefined)),
  ...changes,
});

/** A step that died of a failure of its own execution. */
export const aDeadStep = (changes: Partial<StepItem> = {}): StepItem =>
  aStep({
    status: 'dead',
    fence: 3,
    tries: 3,
    started: 3,
    seq: 1,
    deaths: 1,
    reason: 'exhausted',
    failure: { class: 'retryable', name: 'Timeout', message: 'no answer', fingerprint: 'f00d' },
    outcomeExecution: FIRST,
    met: new Set([`${FIRST}.0`]),
    deadAt: T0 + MINUTE,
    deadMessageId: 'message-1',
    ...changes,
  });

/** A step that is done. */
export const aDoneStep = (changes: Partial<StepItem> = {}): StepItem =>
  aStep({
    status: 'done',
    fence: 1,
    tries: 1,
    started: 1,
    seq: 1,
    owner: 'owner-1',
    outcomeExecution: FIRST,
    met: new Set([`${FIRST}.0`]),
    doneAt: T0 + SECOND,
    result: JSON.stringify({ reservationId: 'r-1', customer: 'Ada' }),
    exposed: JSON.stringify({ reservationId: 'r-1' }),
    ...changes,
  });

/** The command of a step, as dispatch builds it. */
export const aCommand = (
  changes: Partial<Command> = {},
  step: StepItem = aStep(),
  contract: TaskContract = reserve,
): Command => ({
  ...commandOf({
    taskId: taskIdOf(step.runId, step.stepKey),
    workflow: 'order',
    runId: step.runId,
    stepKey: step.stepKey,
    contract: { type: contract.type, version: contract.version, tries: contract.retry.tries },
    tenant: 'acme',
    correlationId: 'corr-1',
    traceparent: aRun().traceparent,
    execution: step.execution,
    entry: step.entry,
    enteredAt: step.entered,
    deadline: step.deadline,
    data: { orderId: 'o-1' },
  }),
  ...changes,
});

export const aClaim = (changes: Partial<ClaimRequest> = {}): ClaimRequest => ({
  command: aCommand(),
  messageId: 'message-1',
  sentAt: T0,
  replay: 0,
  owner: 'owner-1',
  now: T0 + SECOND,
  leaseUntil: T0 + MINUTE,
  atMostOnce: false,
  ...changes,
});

/** Puts items as they are, whatever is stored. */
export async function seed(store: Store, ...items: readonly (RunItem | StepItem)[]): Promise<void> {
  for (const item of items) await store.put({ item: item as unknown as Item, when: all() });
}
