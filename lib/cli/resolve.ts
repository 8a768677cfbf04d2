/** A person's decision on a dead task: what is looked up for it, and what is said where it cannot be. */
import { hash } from 'node:crypto';
import { straightCommands } from '#adapters/straight-commands.ts';
import { closer } from '#core/close.ts';
import { checkValue, problemsText, type TaskContract } from '#core/contract.ts';
import type { Resolution, RunItem, StepItem } from '#core/items.ts';
import { runKey, splitPartition } from '#core/items.ts';
import { deduplicationId } from '#core/ordering-key.ts';
import type { Commands, Log } from '#core/ports.ts';
import { type Resolved, resolver, whyNotResolved } from '#core/resolve.ts';
import { contracts } from '#workflows/contracts.ts';
import type { Connection } from './connection.ts';
import { CliError, EXIT } from './errors.ts';

/** What a person says of a task. `result` only with `done`. */
export interface Decision {
  readonly how: Resolution['how'];
  readonly result?: unknown;
  readonly why?: string;
}

/** A command tells on its screen; what core logs is for functions. */
const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => SILENT };

/** The task with what is around it. */
export interface Found {
  readonly run: RunItem;
  readonly step: StepItem;
  readonly steps: readonly StepItem[];
}

/** @throws CliError `unknown_task` */
export async function findTask(connection: Connection, task: string): Promise<Found> {
  const [runId = '', stepKey, index] = task.split('/');
  const store = await connection.store();
  const { run, steps } = splitPartition(await store.partition(runKey(runId).PK));
  const step = steps.find((one) => one.stepKey === stepKey);
  if (run !== undefined && step !== undefined && index === '0') return { run, step, steps };
  throw new CliError(
    'unknown_task',
    run === undefined
      ? `there is no run ${runId} on ${connection.where}`
      : `run ${runId} has no task ${task}; it has: ${steps.map((one) => `${runId}/${one.stepKey}/0`).join(', ')}`,
    'List the dead ones: npx edow dlq ls',
  );
}

/** @throws CliError where the task is not to be decided; says what it is instead */
export function assertDecidable({ run, step }: Found, { how }: Decision): void {
  const why = whyNotResolved(run, step, how);
  if (why === 'run_closed')
    throw new CliError(
      'run_closed',
      `run ${run.runId} has ${run.status}: its tasks are decided`,
      `Look at it: npx edow show ${run.runId}`,
    );
  if (why === 'not_dead')
    throw new CliError(
      'not_dead',
      `the task is ${step.status}; only a dead one is decided by a person`,
      `Look at it: npx edow show ${run.runId}`,
    );
}

/** @throws CliError `unknown_type`: this clone has no contract for it */
export function contractOf(type: string): TaskContract {
  const contract = contracts.flatMap(({ tasks }) => tasks).find((task) => task.type === type);
  if (contract !== undefined) return contract;
  throw new CliError(
    'unknown_type',
    `no workflow of this clone has a task of type ${type}: its schema is not known here`,
    'Use a clone of what is deployed (lib/workflows/contracts.ts lists its workflows).',
  );
}

/** The result as the contract takes it. @throws CliError `result_invalid` with the places that do not fit */
export function fittingResult({ step }: Found, contract: TaskContract, result: unknown): unknown {
  const checked = checkValue(contract.output, result);
  if (checked.ok) return checked.value;
  throw new CliError(
    'result_invalid',
    `the result does not fit ${step.type} version ${contract.version}: ${problemsText(checked.problems)}`,
    'Give what its handler would have returned: the output of its contract (lib/workflows/<name>/contract.ts).',
    { exitCode: EXIT.usage },
  );
}

/** For the record: which result it was, and not what was in it. */
export const digestOf = (value: unknown): string => hash('sha256', JSON.stringify(value) ?? '').slice(0, 12);

/** @param at makes the message another one to a FIFO queue than the command of the same entry that was sent before */
async function commandsOf({ letters, pipeline }: Connection, at: number): Promise<Commands> {
  const { sources } = await pipeline();
  const text = (value: string) => ({ dataType: 'String', text: value });
  return straightCommands({
    queueOf: (type) => sources.find(({ types }) => types.includes(type))?.queueUrl,
    deduplicationIdOf: (command) => deduplicationId(command, at),
    send: (queueUrl, { attributes: { type, tenant }, ...message }) =>
      letters.send(queueUrl, { ...message, attributes: { type: text(type), tenant: text(tenant) } }),
  });
}

/** @throws CliError `changed_meanwhile`, `not_published` */
export async function decide(
  connection: Connection,
  { run, step, steps }: Found,
  { how, result, why }: Decision,
  actor: { readonly who: string; readonly at: number },
): Promise<Resolved & { readonly outcome: 'resolved' }> {
  const store = await connection.store();
  const payloads = await connection.payloads();
  const clock = { now: () => Date.now() };
  // Said again, a retry sends what the first one sent: by the time of that one.
  const commands = await commandsOf(
    connection,
    step.status === 'retrying' ? (step.resolvedBy?.at ?? actor.at) : actor.at,
  );
  const { done, retry, fail } = resolver({
    store,
    payloads,
    commands,
    closer: closer({ store, payloads, clock }),
  });
  const by: Resolution = { how, ...actor, ...(why !== undefined && { why }) };
  const resolved = await {
    done: () => done(run, step, contractOf(step.type), result, by),
    retry: () => retry(run, step, steps, by),
    fail: () => fail(run, step, by, SILENT),
  }[how]();
  switch (resolved.outcome) {
    case 'resolved':
      return resolved;
    case 'changed':
      throw new CliError(
        'changed_meanwhile',
        `somebody else was faster: the task is ${resolved.status ?? 'gone'} now, and nothing was changed`,
        `Look at it: npx edow show ${run.runId}`,
      );
    case 'unpublished':
      throw new CliError(
        'not_published',
        `the task waits for a try, but no pool takes commands of type ${step.type}`,
        'Deploy a pool for it, then run this again: only the command is sent then.',
      );
  }
}
