/** One schedule: a world of one seed, run until it rests. */
import { stepItemKey, taskIdOf } from '#core/items.ts';
import { isUnreadable, parseCommand } from '#core/read-command.ts';
import { maxReceiveCount } from '#core/retry.ts';
import { actorsOf, type Trace } from './actors.ts';
import { booksOf } from './books.ts';
import { clockwork as clockworkOf } from './clockwork.ts';
import { type FaultKind, faultsOf } from './faults.ts';
import { checkAtRest } from './invariants.ts';
import { type Execution, machineOf } from './machine.ts';
import { clientsOf, operatorOf, runsOf, stepsOf } from './people.ts';
import { ORDERED, planOf, START, TYPES, withoutLanes } from './plan.ts';
import { deployedOf, portsOf } from './ports.ts';
import { commandOf, type Message, type Queue, queueOf } from './queues.ts';
import { randomOf } from './random.ts';
import { FUNCTION_MS, ORDERED_POOL, type Stages, stagesOf } from './stages.ts';
import { intrudersOf, pausesOf, strangersOf } from './strangers.ts';
import { streamsOf } from './streams.ts';
import { tablesOf } from './tables.ts';
import { bookingsOf, tasksOf } from './tasks.ts';

export interface Outcome {
  readonly seed: number;
  /** Invariants that were broken; empty: all hold. */
  readonly broken: readonly string[];
  readonly faults: ReadonlyMap<FaultKind, number>;
  /** Final states of runs and of tasks, e.g. `run succeeded`. */
  readonly ends: readonly string[];
  /** Events that the stream of the local cloud lost before relay saw them. */
  readonly eventsLost: number;
  readonly actions: number;
  readonly virtualMs: number;
}

export interface ScheduleOptions {
  readonly without?: ReadonlySet<string>;
  readonly trace?: (time: number, actor: string, text: string) => void;
}

const MINUTE = 60_000;
/** A world that does not rest by then never will. */
const LONGEST_MS = 48 * 60 * MINUTE;
const MOST_ACTIONS = 60_000;
const MAX_TRIES = 4;
const COLD_START_MS = [1000, 8000] as const;
const END_EVENT_MS = [100, 500] as const;
/** A workflow that a bad deployment leaves out comes back. */
const MISSING_UNTIL_MS = [6 * MINUTE, 20 * MINUTE] as const;
const LATE_END_MS = [30_000, 40 * MINUTE] as const;
/** Lambda's tries of an asynchronous call. */
const CLOSE_TRIES = 3;

export async function schedule(seed: number, options: ScheduleOptions = {}): Promise<Outcome> {
  const realNow = Date.now;
  try {
    return await run(seed, options);
  } finally {
    Date.now = realNow;
  }
}

async function run(seed: number, { without = new Set(), trace: told }: ScheduleOptions): Promise<Outcome> {
  const plan = planOf(seed);
  const clockwork = clockworkOf(START);
  const trace: Trace | undefined = told && ((actor, text) => told(clockwork.now() - START, actor, text));
  const faults = faultsOf(seed, without, (kind) => trace?.('fault', kind.toUpperCase()));
  const random = randomOf(seed, 'world');
  const books = booksOf(plan, clockwork.now);
  const actors = actorsOf({ clockwork, faults, random, trace });
  const overtaken = new Set<string>();
  const tables = tablesOf({
    actors,
    faults,
    random,
    now: clockwork.now,
    others: bookingsOf(books, faults),
    handOut: ({ PK, SK }) => {
      const taskId = taskIdOf(PK.slice('RUN#'.length), SK.slice('STEP#'.length));
      const text = `"id":"${taskId}"`;
      // A FIFO queue hands none of a group out while one is in flight.
      const queue = queues.find(({ name, holding }) => name !== ORDERED_POOL && holding(text) > 0);
      if (!overtaken.delete(taskId) || queue === undefined) return false;
      queue.reveal(({ body }) => body.includes(text));
      return true;
    },
  });
  tables.onChange(books.follow);
  if (trace)
    tables.onChange(({ after }) =>
      trace(
        'table',
        `${after.PK.slice(4)} ${after.SK} ${after['status'] ?? ''} ${JSON.stringify(shown(after))}`,
      ),
    );

  let stages: Stages;
  const machine = machineOf({
    plan,
    clockwork,
    faults,
    random,
    trace,
    callDispatch: (request, done) => {
      let told = false;
      const tellOnce = (ok: boolean): void => {
        if (!told) done(ok);
        told = true;
      };
      if (faults.strikes('dispatch call failed'))
        return void clockwork.at(clockwork.now() + 100, () => tellOnce(false));
      if (faults.strikes('dispatch still running'))
        clockwork.at(clockwork.now() + random.between(5, 3000), () => tellOnce(false));
      const begin = (): void =>
        void stages.dispatch(request, (how) => tellOnce(typeof how === 'object' && 'value' in how));
      if (faults.strikes('dispatch starts late'))
        clockwork.at(clockwork.now() + random.between(...COLD_START_MS), begin);
      else begin();
    },
    onTaskFailed: books.failed,
    onEnd: (execution) => tellEnd(execution),
  });

  const pools = new Map<string, Queue>();
  const poolOf = (name: string, ordered: boolean): Queue => {
    const queue: Queue = queueOf(
      { clockwork, faults, random },
      {
        name,
        visibilityMs: 6 * FUNCTION_MS,
        maxReceiveCount: maxReceiveCount(MAX_TRIES),
        batchSize: ordered ? 1 : plan.batchSize,
        maxConcurrency: 3,
        faulty: true,
        ...(ordered && { groupOf: laneIn }),
        consumer: (batch, done) => stages.work(queue, batch, done),
        onDelete: checkAck,
        ...(plan.sparesCopies && { spared: isOver }),
        onDeadLetter: (message) => {
          if (message.group !== undefined && !isEnded(message)) books.diedUnseen(message.group);
          checkLetter(queue, message);
        },
      },
    );
    return queue;
  };
  const orderedPool = poolOf(ORDERED_POOL, true);
  for (const type of TYPES)
    pools.set(type, ORDERED.includes(type) ? orderedPool : poolOf(type.slice(0, type.indexOf('.')), false));
  const queues = [...new Set(pools.values())];

  /** No worker could write what became of it: unseen, or the table was away at its last receive. */
  function isEnded(message: Message): boolean {
    const command = commandOf(message);
    const step = isUnreadable(command) ? undefined : tables.item(stepItemKey(command.runid, command.step));
    return ['dead', 'done', 'cancelled'].includes(String(step?.['status']));
  }

  /** Nothing but the dead letters is left to it: its task is over, or it is no message of ours. */
  function isOver(message: Message): boolean {
    const command = commandOf(message);
    return isUnreadable(command) || !books.planned.has(command.runid) || isEnded(message);
  }

  function checkAck(message: Message): void {
    const command = commandOf(message);
    if (isUnreadable(command)) {
      if (command.harmless) return;
      books.breaks(`5: ${message.id} is no command and was acked`);
      return;
    }
    const step = tables.item(stepItemKey(command.runid, command.step));
    if (!['done', 'surplus', 'cancelled'].includes(String(step?.['status'])))
      books.breaks(
        `5: ${message.id} was acked while ${command.id} is ${step?.['status'] ?? 'not on record'}`,
      );
  }

  /** Our code saw the last receive of this only copy to its end, and yet left the task waiting for another. */
  function checkLetter(queue: Queue, message: Message): void {
    trace?.(queue.name, `${message.id} goes to the dead letters`);
    const command = commandOf(message);
    if (isUnreadable(command) || !message.seen || books.reasons.has(message.id)) return;
    if (queue.holding(`"id":"${command.id}"`) > 0) return;
    const step = tables.item(stepItemKey(command.runid, command.step));
    const status = step?.['status'];
    // A task that has died before has its reason on record, and a newer copy may wait elsewhere.
    if (step?.['deaths'] === undefined && (status === 'ready' || status === 'retrying'))
      books.breaks(`5: ${message.id} is a dead letter while ${command.id} is ${status}`);
  }

  let definition = 'v1';
  let missing = '';
  if (faults.strikes('definition changed'))
    clockwork.at(START + random.between(MINUTE, 20 * MINUTE), () => {
      definition = 'v2';
    });
  if (faults.strikes('workflow not deployed'))
    for (const name of [random.pick(plan.workflows).name, ''])
      clockwork.at(START + random.between(...(name ? ([0, 5 * MINUTE] as const) : MISSING_UNTIL_MS)), () => {
        missing = name;
      });
  const hasOrder = plan.workflows.some(({ groups }) =>
    groups.flat().some(({ type }) => ORDERED.includes(type)),
  );
  const unmapped = hasOrder && faults.strikes('ordering key not mapped');
  const isUnmapped = (): boolean => unmapped && clockwork.now() < plan.fixedAt;
  const portsFor = portsOf({
    plan,
    clockwork,
    faults,
    actors,
    random,
    books,
    machine,
    pools,
    relayRetry: () => relayRetry,
    workflowOf: (arn) => {
      const workflow = plan.workflows.find(({ name }) => name === arn);
      return workflow && isUnmapped() ? withoutLanes(workflow) : workflow;
    },
  });
  const handlerFor = tasksOf({ plan, clockwork, faults, actors, books, random, overtaken });
  const deployed = () => {
    const known = new Map(deployedOf(plan, isUnmapped() ? `${definition}, no key` : definition));
    known.delete(missing);
    return known;
  };
  stages = stagesOf({ plan, faults, random, actors, tables, books, portsFor, handlerFor, deployed });
  const retries = streamsOf({ plan, clockwork, faults, actors, random, tables, books, stages });
  const [, relayRetry] = retries;

  function tellEnd(execution: Execution): void {
    const { name, workflow, status, output, error, cause } = execution;
    const detail = {
      stateMachineArn: workflow.name,
      name,
      status,
      output: status === 'SUCCEEDED' ? JSON.stringify(output) : null,
      error: error ?? null,
      cause: cause ?? null,
    };
    const send = (tries: number, delay: number): void =>
      clockwork.at(clockwork.now() + delay, () =>
        stages.close(detail, (how) => {
          const failed = how === 'killed' || 'error' in how;
          if (failed && tries < CLOSE_TRIES) send(tries + 1, tries * MINUTE);
        }),
      );
    // A person is as quick as the close, or quicker.
    if (status === 'FAILED' && faults.strikes('redrive at once'))
      clockwork.at(clockwork.now() + random.between(50, 3000), () => machine.redrive(name));
    if (!faults.strikes('end event lost'))
      send(
        1,
        faults.strikes('end event late') ? random.between(...LATE_END_MS) : random.between(...END_EVENT_MS),
      );
    if (faults.strikes('end event doubled')) send(1, random.between(...LATE_END_MS));
  }

  const people = {
    plan,
    clockwork,
    faults,
    random,
    actors,
    tables,
    books,
    machine,
    stages,
    pools,
    retries,
    trace,
  };
  clientsOf(people);
  strangersOf(people);
  pausesOf(people);
  intrudersOf(people);
  const operator = operatorOf(people);
  const everyMinute = (): void => {
    clockwork.at(clockwork.now() + MINUTE, everyMinute, 'idle');
    // A sweep that finds nothing due and no letters does nothing.
    const hasLetters = queues.some(({ deadLetters }) => deadLetters.size > 0);
    if (hasLetters || tables.isDue(clockwork.now() + 10_000)) stages.sweep(clockwork.now());
  };
  clockwork.at(START + random.between(0, MINUTE), everyMinute, 'idle');
  clockwork.at(plan.calmAt, () => faults.calm());

  const isClosing = (): boolean =>
    runsOf(tables).some(({ closedAt, openShard }) => closedAt !== undefined && openShard !== undefined);
  const rests = (): boolean =>
    clockwork.awake() === 0 && books.running.size === 0 && !operator.needed() && !isClosing();
  while (books.broken.length === 0 && !rests()) {
    if (clockwork.done() > MOST_ACTIONS || clockwork.now() > START + LONGEST_MS) {
      books.breaks(
        `1: no rest after ${clockwork.done()} actions and ${(clockwork.now() - START) / MINUTE} minutes`,
      );
      break;
    }
    const settled = clockwork.step();
    if (settled !== undefined) await settled;
  }
  if (books.broken.length === 0) checkAtRest({ plan, books, tables, queues: [...queues, ...retries] });
  return {
    seed,
    broken: books.broken,
    faults: faults.counts(),
    ends: [
      ...runsOf(tables).map(
        ({ status, execution }) => `run ${status}${execution > 1 ? ' after a resume' : ''}`,
      ),
      ...stepsOf(tables).map(({ status }) => `task ${status}`),
    ],
    eventsLost: [...books.expected.values()].filter(({ lost }) => lost).length,
    actions: clockwork.done(),
    virtualMs: clockwork.now() - START,
  };
}

/** The group of a message: its partition key, as the topic sets it. */
function laneIn(body: string): string | undefined {
  const command = parseCommand(body);
  return isUnreadable(command) ? undefined : command.partitionkey;
}

/** What a reader of a trace needs of an item. */
const shown = (item: { readonly [attr: string]: unknown }): object =>
  Object.fromEntries(
    [
      'execution',
      'entry',
      'fence',
      'tries',
      'owner',
      'reason',
      'deadMessageId',
      'outcomeExecution',
      'seq',
      'cause',
    ]
      .filter((attr) => item[attr] !== undefined)
      .map((attr) => [attr, item[attr]]),
  );
