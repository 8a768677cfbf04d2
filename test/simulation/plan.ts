/** What one schedule is about: the cloud, the workflows, the runs and what their tasks will do. */
import type { TaskMode } from '#core/contract.ts';
import { fromInput, fromStep, type Mapping } from '#core/mapping.ts';
import { randomOf } from './random.ts';

/** A state that runs a task. */
export interface PlannedStep {
  readonly stepKey: string;
  readonly type: string;
  readonly tries: number;
  readonly timeoutSeconds: number;
  readonly input: Mapping;
}

export interface PlannedWorkflow {
  readonly name: string;
  /** One after the other; the steps of one group are the branches of a Parallel state. */
  readonly groups: readonly (readonly PlannedStep[])[];
  /** Step whose answer `declined` leads to a Fail state. */
  readonly choiceOn: string;
}

export interface PlannedRun {
  readonly workflow: PlannedWorkflow;
  readonly key: string;
  readonly startAt: number;
  readonly input: {
    readonly value: number;
    readonly filling: string;
    readonly zero: 0;
    readonly lane: string;
  };
  /** The step of the Choice answers `declined`. */
  readonly declined: boolean;
}

export interface Plan {
  readonly seed: number;
  /** `local`: an error of dispatch goes unseen, a failed stream record is lost, no redrive of executions. */
  readonly cloud: 'aws' | 'local';
  /** A retry of dispatch waits with the token of the entry before it. */
  readonly sameToken: boolean;
  readonly workflows: readonly PlannedWorkflow[];
  readonly runs: readonly PlannedRun[];
  /** What a Pass state adds to each output. */
  readonly passed: string;
  /** Epoch milliseconds from which poisoned tasks are fixed, and from which no fault strikes. */
  readonly fixedAt: number;
  readonly calmAt: number;
  /** The operator looks after seconds, not minutes. */
  readonly attentive: boolean;
  /** The operator knows the console only. */
  readonly movesOnly: boolean;
  /** Tasks of one batch at the same time. */
  readonly batchConcurrency: number;
  readonly batchSize: number;
  /** Copies of what is over are not received to the bitter end: most of a schedule's time went into them. */
  readonly sparesCopies: boolean;
}

export const TYPES = [
  'alpha.thing.make',
  'beta.thing.make',
  'gamma.thing.make',
  'once.thing.make',
  'booked.thing.make',
  'ordered.thing.make',
  'ordered-once.thing.make',
] as const;
/** Modes of the types; the others are normal. */
export const MODES: Partial<Record<string, TaskMode>> = {
  'once.thing.make': 'atMostOnce',
  'booked.thing.make': 'transactional',
  'ordered-once.thing.make': 'atMostOnce',
};
/** Types of the ordered pool: one queue, and one order by `lane`. */
export const ORDERED: readonly string[] = ['ordered.thing.make', 'ordered-once.thing.make'];
/** The type whose input may be null or a number; it exposes nothing. */
export const TAKES_ALL = 'gamma.thing.make';
export const START = Date.UTC(2026, 0, 5, 9);
const MINUTE = 60_000;
/** Above what an item holds inline, and above what a command does. */
const LARGE = 9 * 1024;
const HUGE = 33 * 1024;
/** Widths of the groups of a workflow: two tasks at least. */
const SMALL_SHAPES = [[1, 1], [2]] as const;
const LARGE_SHAPES = [[1, 1], [1, 2], [2, 1], [1, 1, 1], [2], [1, 2, 1]] as const;
/** Minutes from the start until the fix, and from there until no fault strikes. */
const FIXED_SOON = [3, 12] as const;
const FIXED_LATE = [5, 30] as const;
const CALM_SOON = [3, 15] as const;
const CALM_LATE = [5, 40] as const;

/** The workflow of a developer who forgot to map what its ordered tasks are ordered by. */
export const withoutLanes = (workflow: PlannedWorkflow): PlannedWorkflow => ({
  ...workflow,
  groups: workflow.groups.map((group) =>
    group.map((step) =>
      ORDERED.includes(step.type)
        ? { ...step, input: { ...(step.input as object), lane: fromInput('absent') } }
        : step,
    ),
  ),
});

export function planOf(seed: number): Plan {
  const random = randomOf(seed, 'plan');

  const minutes = ([from, to]: readonly [number, number]): number => random.between(from, to) * MINUTE;

  /** Most schedules are small, so that there are many of them; what needs a large one meets it in every fifth. */
  const large = random.chance(0.2);

  /** Some schedules are about order: most of their tasks are of one pool and of one key. */
  const inOrder = random.chance(0.3);

  /** From the run's input, from an earlier step, without either, or a member that is not there. */
  const inputOf = (type: string, earlier: string | undefined): Mapping => {
    if (type === TAKES_ALL && random.chance(0.3)) return fromInput(random.pick(['absent', 'zero']));
    const value = earlier === undefined ? fromInput('value') : fromStep(earlier, 'value');
    const filling = earlier !== undefined && random.chance(0.3) ? '' : fromInput('filling');
    return ORDERED.includes(type) ? { value, filling, lane: fromInput('lane') } : { value, filling };
  };

  const workflow = (name: string): PlannedWorkflow => {
    const groups: PlannedStep[][] = [];
    let earlier: string | undefined;
    const shapes = random.pick(large ? LARGE_SHAPES : SMALL_SHAPES);
    for (const [at, width] of shapes.entries()) {
      const group = Array.from({ length: width }, (_, branch): PlannedStep => {
        const type = random.pick(inOrder && random.chance(0.7) ? (ORDERED as typeof TYPES) : TYPES);
        return {
          stepKey: `S${at + 1}${'ab'[branch]}`,
          type,
          tries: random.between(1, 4),
          timeoutSeconds: random.pick([150, 300, 600]),
          input: inputOf(type, earlier),
        };
      });
      earlier = group[0]?.stepKey;
      groups.push(group);
    }
    return { name, groups, choiceOn: random.pick(groups.flat()).stepKey };
  };

  const workflows = [workflow('first'), workflow('second')];
  const runs = Array.from(
    { length: large ? random.between(2, 3) : 2 },
    (_, at): PlannedRun => ({
      workflow: workflows[at % 2] as PlannedWorkflow,
      key: `key-${at}`,
      startAt: START + random.between(0, 90_000),
      input: {
        value: 100 * (at + 1),
        zero: 0,
        lane: random.pick(inOrder ? ['x', 'x', 'y'] : ['x', 'y', 'z']),
        filling: random.chance(0.06) ? 'x'.repeat(random.pick([LARGE, HUGE])) : '',
      },
      declined: random.chance(0.08),
    }),
  );
  const fixedAt = START + minutes(large ? FIXED_LATE : FIXED_SOON);
  return {
    seed,
    cloud: random.chance(0.6) ? 'aws' : 'local',
    sameToken: random.chance(0.3),
    workflows,
    runs,
    passed: random.chance(0.05) ? 'y'.repeat(LARGE) : '',
    fixedAt,
    calmAt: fixedAt + minutes(large ? CALM_LATE : CALM_SOON),
    attentive: random.chance(0.25),
    movesOnly: random.chance(0.3),
    batchConcurrency: random.pick([1, 10]),
    batchSize: random.pick([1, 3, 10]),
    sparesCopies: random.chance(0.96),
  };
}
