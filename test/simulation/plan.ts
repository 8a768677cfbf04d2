/** What one schedule is about: the cloud, the workflows, the runs and what their tasks will do. */
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
  readonly input: { readonly value: number; readonly filling: string };
  /** The step of the Choice answers `declined`. */
  readonly declined: boolean;
}

export interface Plan {
  readonly seed: number;
  /** `local`: an error of dispatch goes unseen, a failed stream record is lost, no redrive of executions. */
  readonly cloud: 'aws' | 'local';
  /** A retry of dispatch waits with the token of the entry before it. */
  readonly sameToken: boolean;
  /** The states retry a command that was not published, too. */
  readonly retriesDispatchFailed: boolean;
  readonly workflows: readonly PlannedWorkflow[];
  readonly runs: readonly PlannedRun[];
  /** Epoch milliseconds from which poisoned tasks are fixed, and from which no fault strikes. */
  readonly fixedAt: number;
  readonly calmAt: number;
  /** Tasks of one batch at the same time. */
  readonly batchConcurrency: number;
  readonly batchSize: number;
}

export const TYPES = ['alpha.thing.make', 'beta.thing.make', 'gamma.thing.make'] as const;
export const START = Date.UTC(2026, 0, 5, 9);
const MINUTE = 60_000;
/** Above what an item and a command hold inline. */
const LARGE = 40 * 1024;

export function planOf(seed: number): Plan {
  const random = randomOf(seed, 'plan');

  const workflow = (name: string): PlannedWorkflow => {
    const groups: PlannedStep[][] = [];
    let earlier: string | undefined;
    const shapes = random.pick([[1, 1], [1, 2], [2, 1], [1, 1, 1], [2], [1, 2, 1]] as const);
    for (const [at, width] of shapes.entries()) {
      const group = Array.from({ length: width }, (_, branch): PlannedStep => {
        const input: Mapping = {
          value: earlier === undefined ? fromInput('value') : fromStep(earlier, 'value'),
          filling: fromInput('filling'),
        };
        return {
          stepKey: `S${at + 1}${'ab'[branch]}`,
          type: random.pick(TYPES),
          tries: random.between(1, 4),
          timeoutSeconds: random.pick([150, 300, 600]),
          input,
        };
      });
      earlier = group[0]?.stepKey;
      groups.push(group);
    }
    return { name, groups, choiceOn: random.pick(groups.flat()).stepKey };
  };

  const workflows = [workflow('first'), workflow('second')];
  const runs = Array.from(
    { length: random.between(2, 3) },
    (_, at): PlannedRun => ({
      workflow: workflows[at % 2] as PlannedWorkflow,
      key: `key-${at}`,
      startAt: START + random.between(0, 90_000),
      input: {
        value: 100 * (at + 1),
        filling: random.chance(0.03) ? 'x'.repeat(LARGE) : '',
      },
      declined: random.chance(0.08),
    }),
  );
  const fixedAt = START + random.between(5, 30) * MINUTE;
  return {
    seed,
    cloud: random.chance(0.6) ? 'aws' : 'local',
    sameToken: random.chance(0.3),
    retriesDispatchFailed: random.chance(0.5),
    workflows,
    runs,
    fixedAt,
    calmAt: fixedAt + random.between(5, 40) * MINUTE,
    batchConcurrency: random.pick([1, 10]),
    batchSize: random.pick([1, 3, 10]),
  };
}
