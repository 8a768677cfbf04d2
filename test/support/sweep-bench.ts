/** The sweeper over memory, with one run that is due. */
import { closer } from '#core/close.ts';
import type { Command } from '#core/envelope.ts';
import {
  asRun,
  asStep,
  executionName,
  type RunItem,
  runKey,
  type StepItem,
  stepItemKey,
} from '#core/items.ts';
import type { ExecutionState, QueueDepth } from '#core/ports.ts';
import { FIRST_CHECK_MS } from '#core/run-changes.ts';
import { type SweepPorts, sweeper } from '#core/sweep.ts';
import { aRun, DEPLOYED, RUN_ID, seed, T0 } from '#test/examples.ts';
import { manualClock } from '#test/memory/determinate.ts';
import { memoryLog } from '#test/memory/log.ts';
import { memoryPayloads } from '#test/memory/payloads.ts';
import { memoryRetelling } from '#test/memory/queues.ts';
import { memoryAnswers, memoryExecutions } from '#test/memory/state-machines.ts';
import { memoryStore } from '#test/memory/store.ts';
import { memoryTopic } from '#test/memory/topic.ts';
import { memoryViews } from '#test/memory/views.ts';

/** When the example run is due for its first look. */
export const DUE = T0 + FIRST_CHECK_MS;
export const TASK = `${RUN_ID}/Reserve/0`;

export interface Given {
  readonly run?: RunItem;
  readonly steps?: readonly StepItem[];
  /** State of the run's execution; undefined: it was never started. Default: running. */
  readonly execution?: ExecutionState | undefined;
  /** Messages in the work queue; undefined: there is none. */
  readonly waiting?: number | undefined;
  readonly at?: number;
  readonly ports?: Partial<SweepPorts>;
}

export async function sweepBench(given: Given) {
  const { run = aRun(), steps = [], at = DUE, ports = {} } = given;
  const memory = memoryStore();
  await seed(memory, run, ...steps);
  const clock = manualClock(at);
  const answers = memoryAnswers();
  answers.open('token-1');
  const executions = memoryExecutions();
  const execution = 'execution' in given ? given.execution : { status: 'RUNNING' as const };
  const name = executionName(run.runId, run.execution);
  if (execution) {
    await executions.start(DEPLOYED.stateMachineArn, name, '');
    executions.end(DEPLOYED.stateMachineArn, name, execution);
  }
  const before = executions.started.length;
  const commands = memoryTopic<Command>();
  const payloads = memoryPayloads();
  const log = memoryLog();
  const asked: string[] = [];
  const views = memoryViews();
  const behind: string[] = [];
  const retelling = memoryRetelling({ waiting: () => behind.length });
  const queues: QueueDepth = {
    waiting: async (type) => {
      asked.push(type);
      return 'waiting' in given ? given.waiting : 0;
    },
  };
  const { sweep } = sweeper({
    store: memory,
    executions,
    answers,
    commands,
    payloads,
    queues,
    clock,
    closer: closer({ store: memory, payloads, clock }),
    workflows: new Map([['order', DEPLOYED]]),
    views,
    retelling,
    ...ports,
  });
  const runNow = async () => asRun((await memory.get(runKey(RUN_ID))) ?? ({} as never));
  const stepNow = async () => asStep((await memory.get(stepItemKey(RUN_ID, 'Reserve'))) ?? ({} as never));
  const started = () => executions.started.slice(before);
  return {
    memory,
    clock,
    answers,
    executions,
    commands,
    log,
    asked,
    views,
    retold: retelling.told,
    behind,
    sweep: (until = Number.POSITIVE_INFINITY) => sweep(log, until),
    runNow,
    stepNow,
    started,
  };
}
