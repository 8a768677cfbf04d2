/** Publishes a step's command, or answers its token from memory. May run several times for one entry. */
import { retireStep } from './close.ts';
import { deadAsMet } from './deaths.ts';
import { DISPATCH_FAILED, type DispatchRequest, INVALID_COMMAND, TASK_REFUSED } from './dispatch-request.ts';
import { type Command, commandOf } from './envelope.ts';
import { ContractError } from './errors.ts';
import {
  asRun,
  asStep,
  executionOf,
  executionOrder,
  isBeyondTries,
  type RunItem,
  runKey,
  type StepItem,
  splitPartition,
  stepItemKey,
  taskIdOf,
} from './items.ts';
import { type Mapping, referencesOf, resolveMapping } from './mapping.ts';
import { partitionKeyOf } from './ordering-key.ts';
import { payloadOf } from './payload.ts';
import type { Answers, Clock, Commands, Log, Payloads } from './ports.ts';
import { noteRedriveOf, redrivenRunOf } from './run-changes.ts';
import { absent, all, any, gone, ifMissing, type Store, to, type Update, where } from './store.ts';

export interface DispatchPorts {
  readonly store: Store;
  readonly commands: Commands;
  readonly answers: Answers;
  readonly payloads: Payloads;
  readonly clock: Clock;
}

/** Error name of an entry that the run has left behind. */
export const RUN_CLOSED = 'RunClosed';

/** Larger command data travels as a pointer: SNS takes 256 KiB, and each 64 KiB is a request more. */
export const COMMAND_DATA_BYTES = 32 * 1024;

/** Step first: the newest (execution, entry) owns token and deadline. */
export function enterStepOf(request: DispatchRequest): Update {
  const execution = executionOrder(request.execution, request.redrive);
  const entered = Date.parse(request.entered);
  return {
    key: stepItemKey(request.runId, request.step),
    when: any(
      absent,
      where('execution', '<', execution),
      all(where('execution', '=', execution), where('entry', '<=', request.entry)),
    ),
    changes: {
      runId: to(request.runId),
      stepKey: to(request.step),
      type: to(request.task.type),
      version: to(request.task.version),
      tryLimit: to(request.task.tries),
      ...(request.task.orderBy === undefined ? {} : { orderBy: to(request.task.orderBy) }),
      token: to(request.token),
      execution: to(execution),
      entry: to(request.entry),
      deadline: to(entered + request.timeoutSeconds * 1000),
      timeoutSeconds: to(request.timeoutSeconds),
      entered: to(entered),
      firstEntered: ifMissing(entered),
      input: to(JSON.stringify(request.input)),
      // A new entry may be published again as often as the first.
      republished: gone,
      status: ifMissing('ready'),
      fence: ifMissing(0),
      tries: ifMissing(0),
      started: ifMissing(0),
      clean: ifMissing(0),
      seq: ifMissing(0),
    },
  };
}

/** Dead -> retrying: a new round of tries in the step's present execution. */
export const newRound = (step: StepItem) => ({
  status: to('retrying'),
  tries: to(0),
  deferred: gone,
  notBefore: gone,
  outcomeExecution: to(step.execution),
  reason: gone,
  failure: gone,
});

/** A task that died in an older execution gets a new round of tries in this one. */
export const resetDeadOf = (step: StepItem): Update => ({
  key: { PK: step.PK, SK: step.SK },
  when: deadAsMet(step),
  changes: { ...newRound(step), resolvedBy: gone },
});

/** It fails each execution that comes to it. */
const keepDeadOf = (step: StepItem): Update => ({
  key: { PK: step.PK, SK: step.SK },
  when: deadAsMet(step),
  changes: { outcomeExecution: to(step.execution) },
});

/**
 * The token's answer for a dead task: error name and cause, without payload. Step Functions takes 256 characters of the
 * one and 32,768 of the other; ours are far below.
 */
export const failureAnswer = (step: StepItem): { readonly error: string; readonly cause: string } => ({
  error: step.failure?.refused ? TASK_REFUSED : 'TaskFailed',
  cause: JSON.stringify({
    taskId: taskIdOf(step.runId, step.stepKey),
    type: step.type,
    reason: step.reason,
    error: step.failure?.name,
    fingerprint: step.failure?.fingerprint,
  }),
});

export function dispatcher(ports: DispatchPorts) {
  const { store, commands, answers, payloads, clock } = ports;

  async function dispatch(request: DispatchRequest, log: Log): Promise<void> {
    const entered = await store.update(enterStepOf(request));
    if (!entered.written) {
      log.info('an older entry of this step was left alone', { step: request.step, entry: request.entry });
      return;
    }
    const step = asStep(entered.item);
    const refs = referencesOf(request.input);
    const found = await runAndSteps(
      request.runId,
      refs.some(({ $from }) => $from !== 'input'),
    );
    const run = await goingRun(found.run, step, request);
    if (typeof run === 'string') {
      log.warn('step of a run that does not go on', { step: request.step, reason: run });
      // Redriven from AWS's console after its run had ended: nobody else would retire this step.
      if (found.run?.closedAt !== undefined) await retireStep(store, step, found.run.closedAt);
      await answers.fail(request.token, RUN_CLOSED, run);
      return;
    }
    const current = await answeredOrReset(step, log);
    if (current === undefined) return;
    const command = await builtOrRefused(run, current, found.steps, request.token, log);
    if (command === undefined) return;
    const left = await commands.publish([command]);
    if (left.length === 0) return;
    log.error('command was not published', { step: request.step });
    await answers.fail(request.token, DISPATCH_FAILED, 'the commands topic did not take the command');
  }

  async function builtOrRefused(
    run: RunItem,
    step: StepItem,
    steps: readonly StepItem[],
    token: string,
    log: Log,
  ): Promise<Command | undefined> {
    try {
      return await buildCommand(payloads, run, step, steps);
    } catch (error) {
      if (!(error instanceof ContractError)) throw error;
      log.error('command cannot be built', { step: step.stepKey });
      await answers.fail(token, INVALID_COMMAND, error.message);
      return undefined;
    }
  }

  /** Strong: close writes RUN first and reads steps second, we write STEP first and read RUN second. */
  async function runAndSteps(runId: string, withSteps: boolean) {
    if (withSteps) return splitPartition(await store.partition(runKey(runId).PK));
    const item = await store.get(runKey(runId));
    return { run: item && asRun(item), steps: [] as StepItem[] };
  }

  /** The run, if it goes on in the step's execution; otherwise why it does not. */
  async function goingRun(
    run: RunItem | undefined,
    step: StepItem,
    request: DispatchRequest,
  ): Promise<RunItem | string> {
    if (run === undefined) return 'no such run';
    if (run.status === 'succeeded' || run.status === 'failed') return `the run has ${run.status}`;
    if (run.execution !== executionOf(step.execution))
      return `execution ${executionOf(step.execution)} was left for execution ${run.execution}`;
    if (run.status === 'running') {
      if (request.redrive > run.redrive) await store.update(noteRedriveOf(run, request.redrive));
      return run;
    }
    // Held, and yet its own execution enters a step: redriven from AWS's console, or about to end.
    const redriven = await store.update(redrivenRunOf(run, request.redrive, clock.now()));
    const now = redriven.item && asRun(redriven.item);
    return now?.status === 'running' && now.execution === run.execution ? now : 'the run is held';
  }

  /** Answers from memory where the task is finished; otherwise the step whose command must be published. */
  async function answeredOrReset(step: StepItem, log: Log): Promise<StepItem | undefined> {
    let current = step;
    if (current.status === 'dead' && (current.outcomeExecution ?? 0) < current.execution) {
      const reset = await store.update(isBeyondTries(current) ? keepDeadOf(current) : resetDeadOf(current));
      if (reset.item === undefined) return undefined;
      current = asStep(reset.item);
    }
    switch (current.status) {
      case 'done':
        log.info('step answered from memory', { step: current.stepKey });
        await answers.succeed(step.token, current.exposed ?? '{}');
        return undefined;
      case 'dead': {
        const { error, cause } = failureAnswer(current);
        await answers.fail(step.token, error, cause);
        return undefined;
      }
      case 'cancelled':
      case 'surplus':
        await answers.fail(step.token, RUN_CLOSED, `the task is ${current.status}`);
        return undefined;
      case 'ready':
      case 'claimed':
      case 'retrying':
        return current;
    }
  }

  return { dispatch };
}

/** Builds a step's command from what is stored: the same text whenever it is built for the same entry. */
export async function buildCommand(
  payloads: Payloads,
  run: RunItem,
  step: StepItem,
  steps: readonly StepItem[],
): Promise<Command> {
  const mapping = JSON.parse(step.input) as Mapping;
  const wanted = new Set(referencesOf(mapping).map(({ $from }) => $from));
  const results = new Map<string, unknown>();
  for (const other of steps)
    if (wanted.has(other.stepKey) && other.status === 'done')
      results.set(other.stepKey, await payloadOf(payloads, run.tenant, other.result, other.resultRef));
  const input = wanted.has('input')
    ? await payloadOf(payloads, run.tenant, run.input, run.inputRef)
    : undefined;
  const data = resolveMapping(mapping, { input, results }) ?? null;
  const text = JSON.stringify(data);
  const large = Buffer.byteLength(text) > COMMAND_DATA_BYTES;
  return commandOf({
    taskId: taskIdOf(step.runId, step.stepKey),
    workflow: run.workflow,
    runId: run.runId,
    stepKey: step.stepKey,
    contract: { type: step.type, version: step.version, tries: step.tryLimit },
    tenant: run.tenant,
    correlationId: run.correlationId,
    traceparent: run.traceparent,
    execution: step.execution,
    entry: step.entry,
    enteredAt: step.entered,
    deadline: step.deadline,
    ...(step.orderBy === undefined
      ? {}
      : { partitionKey: partitionKeyOf(run.tenant, step.type, step.orderBy, data) }),
    ...(large
      ? { dataref: await payloads.put(`${run.tenant}/${run.runId}/${step.stepKey}-command.json`, text) }
      : { data }),
  });
}
