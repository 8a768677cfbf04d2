/** Clients that ask for runs, and the operator who mends, replays and resumes. */
import { dataDigest } from '#core/claim.ts';
import { closer } from '#core/close.ts';
import type { Command } from '#core/envelope.ts';
import {
  asRun,
  asStep,
  executionName,
  type Resolution,
  type RunItem,
  runKey,
  type StepItem,
  splitPartition,
  stepItemKey,
  taskIdOf,
} from '#core/items.ts';
import { editedByPersonOf } from '#core/operator-marks.ts';
import { isUnreadable } from '#core/read-command.ts';
import { resolver, whyNotResolved } from '#core/resolve.ts';
import { MAX_RESUMES, resumeRun } from '#core/resume.ts';
import type { RunRequest } from '#core/trigger.ts';
import type { Actors, Trace } from './actors.ts';
import type { Books } from './books.ts';
import type { Clockwork } from './clockwork.ts';
import type { Faults } from './faults.ts';
import type { Machine } from './machine.ts';
import type { Plan, PlannedRun } from './plan.ts';
import { commandOf, type Message, type Queue } from './queues.ts';
import type { Random } from './random.ts';
import type { Stages } from './stages.ts';
import type { Tables } from './tables.ts';
import { CONTRACTS } from './tasks.ts';

export interface PeopleParts {
  readonly plan: Plan;
  readonly clockwork: Clockwork;
  readonly faults: Faults;
  readonly random: Random;
  readonly actors: Actors;
  readonly tables: Tables;
  readonly books: Books;
  readonly machine: Machine;
  readonly stages: Stages;
  readonly pools: ReadonlyMap<string, Queue>;
  /** Retry queues of the stream's followers. */
  readonly retries: readonly Queue[];
  readonly trace: Trace | undefined;
}

const MINUTE = 60_000;
/** A client asks again after no answer, and in the end is content with what the sweeper does. */
const CLIENT_TRIES = 8;

export function clientsOf({ plan, clockwork, faults, random, books, stages }: PeopleParts): void {
  function ask(run: PlannedRun, tries: number): void {
    const request = {
      workflow: run.workflow.name,
      tenant: 'default',
      idempotencyKey: run.key,
      input: run.input,
      correlationId: run.key,
    };
    stages.start(request, (how) => {
      const answer = typeof how === 'object' && 'value' in how ? how.value : undefined;
      if (answer?.accepted) {
        const known = books.accepted.get(run.key);
        if (known !== undefined && known !== answer.run.runId) books.breaks(`1: key ${run.key} has two runs`);
        books.accepted.set(run.key, answer.run.runId);
        if (faults.strikes('client sends other request')) askOtherwise(request, run.input);
        if (faults.strikes('client repeats'))
          clockwork.at(clockwork.now() + random.between(100, 10 * MINUTE), () => ask(run, tries + 1));
      } else if (answer?.why === 'other_request')
        books.breaks(`1: key ${run.key} was refused to its own request`);
      else if (tries < CLIENT_TRIES)
        clockwork.at(clockwork.now() + random.between(500, 20_000), () => ask(run, tries + 1));
    });
  }

  /** The key of a run that was accepted, with another body. */
  function askOtherwise(request: RunRequest, input: PlannedRun['input']): void {
    const other = {
      ...request,
      input: { ...input, value: -1 },
      correlationId: `${request.idempotencyKey}-other`,
    };
    clockwork.at(clockwork.now() + random.between(0, MINUTE), () =>
      stages.start(other, (how) => {
        const answer = typeof how === 'object' && 'value' in how ? how.value : undefined;
        if (answer?.accepted) books.breaks(`1: key ${request.idempotencyKey} took another request`);
      }),
    );
  }

  for (const run of plan.runs) clockwork.at(run.startAt, () => ask(run, 1));
}

/** How often the operator looks. */
const LOOK_MS = [2 * MINUTE, 8 * MINUTE] as const;
const QUICK_LOOK_MS = [5000, MINUTE] as const;

/** The sweeper gives up a task that has been quiet for two minutes; its clock is off by seconds. */
const UNSEEN_MS = 2 * MINUTE + 15_000;

/** Data with a field that an operator may write over. */
const isGiven = (data: unknown): data is { readonly filling: string } =>
  typeof data === 'object' && data !== null && 'filling' in data;

export interface Operator {
  /** Whether something is left that only a person can do. */
  needed(): boolean;
}

export function operatorOf(parts: PeopleParts): Operator {
  const { plan, clockwork, faults, random, actors, tables, books, machine, stages, pools, retries, trace } =
    parts;
  const lookMs = plan.attentive ? QUICK_LOOK_MS : LOOK_MS;
  const say = (text: string): void => trace?.('operator', text);

  const wayBack = (): 'replay' | 'move' => (plan.movesOnly || random.chance(0.5) ? 'move' : 'replay');

  function sendBack(queue: Queue, message: Message, how: 'replay' | 'move'): void {
    queue.deadLetters.delete(message.id);
    const command = commandOf(message);
    if (isUnreadable(command) || !books.planned.has(command.runid)) {
      if (!books.reasons.has(message.id) && message.seen)
        books.breaks(`5: ${message.id} is a dead letter without a reason`);
      say(`discards ${message.id}: ${books.reasons.get(message.id)}`);
      return;
    }
    // Its own id with other data: sent back together with the true copies it could win for ever.
    if (Array.isArray(command.data) && clockwork.now() > plan.fixedAt) {
      say(`discards ${message.id}: its data is damaged`);
      return;
    }
    const step = tables.item(stepItemKey(command.runid, command.step));
    if (step?.['status'] === 'dead' && isGiven(command.data) && faults.strikes('letter edited')) {
      sendEdited(queue, message, asStep(step), { ...command, data: { ...command.data, filling: 'edited' } });
      return;
    }
    books.sentBack.set(command.id, (books.sentBack.get(command.id) ?? 0) + 1);
    const replay = how === 'replay' ? message.replay + 1 : message.replay;
    const sent = queue.send({ body: message.body, replay, origin: how });
    say(
      `${how === 'replay' ? 'replays' : 'moves back'} ${message.id} of ${command.id.slice(26)} as ${sent.id}`,
    );
  }

  /** The edit is noted on the task first; where that fails the letter stays. */
  function sendEdited(queue: Queue, message: Message, step: StepItem, command: Command): void {
    queue.deadLetters.set(message.id, message);
    const edit = { digest: dataDigest(command), who: 'operator', at: clockwork.now(), places: ['/filling'] };
    actors.spawn(
      'operator',
      20_000,
      (actor) => stages.portsAndStore(actor).store.update(editedByPersonOf(step, edit)),
      (how) => {
        if (typeof how !== 'object' || !('value' in how) || !how.value.written) return;
        if (!queue.deadLetters.delete(message.id)) return;
        books.sentBack.set(command.id, (books.sentBack.get(command.id) ?? 0) + 1);
        queue.send({ body: JSON.stringify(command), replay: message.replay + 1, origin: 'replay' });
        say(`edits ${message.id} of ${command.id.slice(26)}`);
      },
    );
  }

  function moveBack(queue: Queue, message: Message): void {
    queue.deadLetters.delete(message.id);
    queue.send({ body: message.body, origin: 'move' });
    say(`moves back ${message.id}`);
  }

  const letters = (): { queue: Queue; message: Message }[] =>
    [...new Set(pools.values())].flatMap((queue) =>
      [...queue.deadLetters.values()].map((message) => ({ queue, message })),
    );
  /** What the sweeper holds just now is not to be seen. */
  const visible = () => letters().filter(({ message }) => message.visibleAt <= clockwork.now());

  /** Nothing had happened to a task for long when a sweep went by, its message lies among the dead letters, and nobody has said why. */
  function checkReason({ message }: { message: Message }): void {
    const command = commandOf(message);
    if (isUnreadable(command)) return;
    const item = tables.item(stepItemKey(command.runid, command.step));
    if (item === undefined) return;
    const step = asStep(item);
    const since = Math.max(
      message.diedAt,
      step.entered,
      step.notBefore ?? 0,
      step.attempts?.at(-1)?.endedAt ?? 0,
      // Tried again by a person's word, with a message of its own, which may take until then.
      step.resolvedBy?.how === 'retry' ? step.deadline : 0,
    );
    const waits = step.status === 'ready' || step.status === 'retrying';
    const same = step.execution === command.execution && step.entry === command.entry;
    if (waits && same && since + UNSEEN_MS < books.swept.last)
      books.breaks(`5: ${message.id} has been a dead letter for long while ${command.id} is ${step.status}`);
  }

  const heldRuns = (): { run: RunItem; steps: StepItem[] }[] =>
    [...books.planned.keys()].flatMap((runId) => {
      if (tables.item(runKey(runId))?.['status'] !== 'held') return [];
      const { run, steps } = splitPartition(tables.items().filter(({ PK }) => PK === `RUN#${runId}`));
      return run?.status === 'held' ? [{ run, steps }] : [];
    });

  function resume(run: RunItem): void {
    say(`resumes ${run.runId.slice(-4)} by hand`);
    actors.spawn(
      'operator',
      20_000,
      async (actor) => {
        const ports = stages.portsAndStore(actor);
        const deployed = ports.workflows.get(run.workflow);
        if (deployed) await resumeRun(ports, run, deployed, false);
      },
      () => undefined,
    );
  }

  /** Nobody but a person can say what became of it: done where the downstream shows the effect, else tried again. */
  function decide(step: StepItem): void {
    const taskId = taskIdOf(step.runId, step.stepKey);
    const known = books.attempts.get(taskId)?.at(-1);
    const contract = CONTRACTS.get(step.type);
    if (contract === undefined) return;
    const happened = (books.effects.get(taskId) ?? 0) > 0;
    say(`finds out that ${taskId.slice(26)} ${happened ? 'had its effect' : 'had none'}`);
    actors.spawn(
      'operator',
      20_000,
      async (actor) => {
        const ports = stages.portsAndStore(actor);
        const { run, steps } = splitPartition(await ports.store.partition(step.PK));
        const present = steps.find(({ SK }) => SK === step.SK);
        const how = happened ? 'done' : 'retry';
        if (run === undefined || present?.fence !== step.fence || whyNotResolved(run, present, how)) return;
        const { done, retry } = resolver({ ...ports, closer: closer(ports) });
        const by: Resolution = { how, who: 'operator', at: actor.clock.now() };
        if (!happened) books.settled(taskId);
        if (happened) await done(run, present, contract, known?.result, by);
        else await retry(run, present, steps, by);
      },
      () => undefined,
    );
  }

  const unknown = (): StepItem[] =>
    stepsOf(tables).filter(
      ({ status, reason, deadAt = 0, resolvedBy }) =>
        (status === 'dead' && reason === 'unknown' && deadAt + MINUTE < clockwork.now()) ||
        (status === 'retrying' && resolvedBy?.how === 'retry'),
    );

  function look(): void {
    clockwork.at(clockwork.now() + random.between(...lookMs), look, 'idle');
    letters().forEach(checkReason);
    unknown().forEach(decide);
    if (clockwork.now() < plan.fixedAt) {
      lookEarly();
      return;
    }
    for (const { queue, message } of visible()) sendBack(queue, message, wayBack());
    for (const queue of retries) for (const message of queue.deadLetters.values()) moveBack(queue, message);
    const failed = machine.executions().filter(({ status }) => status === 'FAILED' || status === 'TIMED_OUT');
    for (const { name } of failed) if (faults.strikes('redrive of an older execution')) machine.redrive(name);
    for (const { run, steps } of heldRuns()) {
      const redriven = faults.strikes('redrive of the execution');
      if (redriven && machine.redrive(executionName(run.runId, run.execution))) continue;
      if (!onlyByHand(run, steps) && !faults.strikes('resume by hand')) continue;
      resume(run);
      if (faults.strikes('two persons resume')) resume(run);
    }
  }

  /** Before the fix: a replay too early, an execution stopped by hand. */
  function lookEarly(): void {
    for (const { queue, message } of visible())
      if (faults.strikes('replay before the fix')) sendBack(queue, message, wayBack());
    for (const { name, status } of machine.executions())
      if (status === 'RUNNING' && faults.strikes('execution stopped by hand')) machine.stop(name);
  }

  /** What no replay heals: stopped by hand, resumed too often, another definition. */
  const onlyByHand = (run: RunItem, steps: readonly StepItem[]): boolean =>
    !steps.some(({ status }) => status === 'dead') &&
    (run.cause?.execution === 'ABORTED' ||
      run.resumes >= MAX_RESUMES ||
      stages.deployed().get(run.workflow)?.definition !== run.definition);

  clockwork.at(clockwork.now() + random.between(...lookMs), look, 'idle');
  return {
    needed: () =>
      letters().length > 0 ||
      heldRuns().length > 0 ||
      retries.some(({ deadLetters }) => deadLetters.size > 0),
  };
}

export const runsOf = (tables: Tables): RunItem[] =>
  tables
    .items()
    .filter(({ SK }) => SK === 'RUN')
    .map(asRun);
export const stepsOf = (tables: Tables): StepItem[] =>
  tables
    .items()
    .filter(({ SK }) => SK.startsWith('STEP#'))
    .map(asStep);
