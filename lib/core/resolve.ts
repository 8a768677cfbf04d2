/**
 * A person decides a dead task: its result is known (`done`), it shall be tried again (`retry`), or it is refused for
 * good (`fail`). The only way on for a task whose outcome is unknown; open to every dead task of an open run.
 *
 * Each write is conditional on the death that was looked at: whoever revives the task at the same moment, a redrive or
 * a resume, wins, and the person is told.
 */
import type { Closer } from './close.ts';
import type { TaskContract } from './contract.ts';
import { type DeadStep, deadAsMet, failedData, outboxOf, TASK_FAILED } from './deaths.ts';
import { buildCommand, newRound } from './dispatch.ts';
import { redact } from './failure.ts';
import type { Failure, Resolution, RunItem, RunStatus, StepItem } from './items.ts';
import { asRun, asStep, runKey } from './items.ts';
import { schemaUri } from './names.ts';
import type { Commands, Log, Payloads } from './ports.ts';
import { keepResult, type Result } from './result.ts';
import { gone, plus, type Store, to, toOrGone, type Update } from './store.ts';
import { keepOutboxOf } from './tell-again.ts';

/** Name of the failure that a person's refusal leaves. */
const REFUSED_BY_PERSON = 'RefusedByPerson';

/** Why a task cannot be decided; undefined: it can. A retry may be repeated: its command may not have been sent. */
export function whyNotResolved(
  run: RunItem,
  step: StepItem,
  how: Resolution['how'],
): 'run_closed' | 'not_dead' | undefined {
  if (run.status === 'succeeded' || run.status === 'failed') return 'run_closed';
  if (step.status === 'dead' || (how === 'retry' && isRetriedByPerson(step))) return undefined;
  return 'not_dead';
}

const isRetriedByPerson = (step: StepItem): boolean =>
  step.status === 'retrying' && step.resolvedBy?.how === 'retry';

const keyOf = ({ PK, SK }: StepItem) => ({ PK, SK });

const toldBy = (run: RunItem) => ({
  workflow: run.workflow,
  tenant: run.tenant,
  correlationid: run.correlationId,
  traceparent: run.traceparent,
});

/** Dead -> done, as a worker's commit: result and event in one write. */
export function doneByPersonOf(
  run: RunItem,
  step: StepItem,
  contract: TaskContract,
  result: Result,
  by: Resolution,
): Update {
  const schema = schemaUri(contract.event, contract.version);
  return {
    key: keyOf(step),
    when: deadAsMet(step),
    changes: {
      status: to('done'),
      result: toOrGone(result.text),
      resultRef: toOrGone(result.ref),
      exposed: toOrGone(result.exposed),
      doneAt: to(by.at),
      seq: plus(1),
      reason: gone,
      failure: gone,
      ...keepOutboxOf(step),
      outbox: to({ ...outboxOf(toldBy(run), contract.event, schema, by.at) }),
      resolvedBy: to({ ...by }),
    },
  };
}

/** A new round of tries, and time for them where the deadline has passed. */
export const retryByPersonOf = (step: StepItem, by: Resolution): Update => ({
  key: keyOf(step),
  when: deadAsMet(step),
  changes: {
    ...newRound(step),
    deadline: to(Math.max(step.deadline, by.at + step.timeoutSeconds * 1000)),
    resolvedBy: to({ ...by }),
  },
});

/** A person's words, as a failure is kept: what looks like a credential or an address is taken out. */
const messageOf = ({ why = 'refused by a person' }: Resolution): string => redact(why);

/** Dead for good: no copy revives it, and its run ends as `failed`. */
export function failByPersonOf(run: RunItem, step: StepItem, by: Resolution): Update {
  const failure: Failure = {
    class: 'permanent',
    name: REFUSED_BY_PERSON,
    message: messageOf(by),
    fingerprint: 'refused-by-person',
    refused: true,
  };
  const data = failedData(step as DeadStep, failure, step.attempts ?? [], by.at);
  return {
    key: keyOf(step),
    when: deadAsMet(step),
    changes: {
      failure: to({ ...failure }),
      // A revival that has read the task before this write is refused by it.
      seq: plus(1),
      ...keepOutboxOf(step),
      outbox: to({ ...outboxOf(toldBy(run), TASK_FAILED, schemaUri(TASK_FAILED, 1), by.at, data) }),
      resolvedBy: to({ ...by }),
    },
  };
}

export interface ResolvePorts {
  readonly store: Store;
  readonly payloads: Payloads;
  readonly commands: Commands;
  readonly closer: Pick<Closer, 'close'>;
}

/** `changed`: somebody else was faster, nothing was written. `unpublished`: the task waits, its command was not sent. */
export type Resolved =
  | { readonly outcome: 'resolved'; readonly run: RunStatus }
  | { readonly outcome: 'changed'; readonly status: string | undefined }
  | { readonly outcome: 'unpublished' };

/** The three decisions. Give what was just read, and ask {@link whyNotResolved} first. */
export function resolver({ store, payloads, commands, closer }: ResolvePorts) {
  async function written(update: Update): Promise<StepItem | Resolved> {
    const write = await store.update(update);
    if (write.written) return asStep(write.item);
    return { outcome: 'changed', status: write.item && asStep(write.item).status };
  }

  /** @param output checked against the contract */
  async function done(
    run: RunItem,
    step: StepItem,
    contract: TaskContract,
    output: unknown,
    by: Resolution,
  ): Promise<Resolved> {
    const result = await keepResult(payloads, step, run.tenant, contract.expose, output);
    const now = await written(doneByPersonOf(run, step, contract, result, by));
    return 'outcome' in now ? now : { outcome: 'resolved', run: run.status };
  }

  async function retry(
    run: RunItem,
    step: StepItem,
    steps: readonly StepItem[],
    by: Resolution,
  ): Promise<Resolved> {
    const now = isRetriedByPerson(step) ? step : await written(retryByPersonOf(step, by));
    if ('outcome' in now) return now;
    const left = await commands.publish([await buildCommand(payloads, run, now, steps)]);
    return left.length === 0 ? { outcome: 'resolved', run: run.status } : { outcome: 'unpublished' };
  }

  /** A run that is held ends here; one that runs ends with its execution. */
  async function fail(run: RunItem, step: StepItem, by: Resolution, log: Log): Promise<Resolved> {
    const now = await written(failByPersonOf(run, step, by));
    if ('outcome' in now) return now;
    // Read again: an execution that ended meanwhile was closed without this decision.
    const stored = await store.get(runKey(run.runId));
    const present = stored && asRun(stored);
    if (present?.status !== 'held') return { outcome: 'resolved', run: run.status };
    const ended = { status: 'FAILED', error: REFUSED_BY_PERSON, cause: messageOf(by) } as const;
    const closed = await closer.close(run.runId, present.execution, ended, log);
    return { outcome: 'resolved', run: (closed ?? present).status };
  }

  return { done, retry, fail };
}
