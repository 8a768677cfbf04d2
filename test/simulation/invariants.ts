/** What must hold when the world is at rest (the design's invariants, by their numbers). */
import { type StepItem, taskIdOf } from '#core/items.ts';
import type { Reference } from '#core/mapping.ts';
import type { Books } from './books.ts';
import { SUBSCRIBERS } from './books.ts';
import { runsOf, stepsOf } from './people.ts';
import { MODES, type Plan } from './plan.ts';
import type { Queue } from './queues.ts';
import type { Tables } from './tables.ts';

export interface AtRest {
  readonly plan: Plan;
  readonly books: Books;
  readonly tables: Tables;
  readonly queues: readonly Queue[];
}

const valueIn = (step: StepItem | undefined): number | undefined =>
  step?.result === undefined ? undefined : (JSON.parse(step.result) as { value: number }).value;

/** Each task answers its input's value and one more. */
function follows(step: StepItem, steps: readonly StepItem[]): boolean {
  const mapping = JSON.parse(step.input) as Partial<Reference> & { readonly value?: Reference };
  if (mapping.path?.[0] === 'zero') return valueIn(step) === 1;
  const from = mapping.value?.$from;
  if (from === undefined || from === 'input') return true;
  const earlier = valueIn(steps.find(({ runId, stepKey }) => runId === step.runId && stepKey === from));
  return earlier === undefined || valueIn(step) === earlier + 1;
}

export function checkAtRest({ plan, books, tables, queues }: AtRest): void {
  const { breaks } = books;
  const runs = runsOf(tables);
  const steps = stepsOf(tables);

  for (const [key, runId] of books.accepted)
    if (!runs.some((run) => run.runId === runId))
      breaks(`1: key ${key} was accepted, its run ${runId} is not on record`);
  for (const { key } of plan.runs) {
    const mine = runs.filter(({ correlationId }) => correlationId === key);
    if (mine.length > 1) breaks(`1: key ${key} has ${mine.length} runs`);
  }
  for (const run of runs) {
    if (run.status === 'running') breaks(`1: run ${run.runId} still runs`);
    if (run.status === 'held')
      breaks(`9: run ${run.runId} is held though its cause is fixed and its letters are replayed`);
    if (run.status === 'succeeded') {
      const planned = books.planned.get(run.runId)?.workflow.groups.flat() ?? [];
      for (const { stepKey } of planned)
        if (!books.doneAt.has(taskIdOf(run.runId, stepKey)))
          breaks(`1: run ${run.runId} succeeded without step ${stepKey}`);
    }
  }
  for (const step of steps) {
    const taskId = taskIdOf(step.runId, step.stepKey);
    const effects = books.effects.get(taskId) ?? 0;
    const run = runs.find(({ runId }) => runId === step.runId);
    if (run?.closedAt !== undefined && !['done', 'surplus', 'cancelled'].includes(step.status))
      breaks(`4: ${taskId} is ${step.status} though its run has ended`);
    if (run?.closedAt !== undefined && step.expiresAt !== run.expiresAt)
      breaks(`10: ${taskId} does not expire with its run`);
    if (run?.closedAt !== undefined && run.openShard !== undefined)
      breaks(`1: run ${run.runId} has ended and is still in the index of open runs`);
    if (step.result !== undefined && !follows(step, steps))
      breaks(`10: the result of ${taskId} does not follow from its input`);
    if (step.status === 'done' && effects === 0) breaks(`9: ${taskId} is done without its effect`);
    const mode = MODES[step.type];
    if (mode === 'transactional' && effects !== (step.status === 'done' ? 1 : 0))
      breaks(`2: ${taskId} is transactional and ${step.status}, its effect happened ${effects} times`);
    if (mode === 'atMostOnce' && effects > 1) breaks(`2: the effect of ${taskId} happened ${effects} times`);
  }
  for (const [id, { told, type }] of books.expected)
    for (const subscriber of SUBSCRIBERS)
      if (!told.has(subscriber)) breaks(`3: event ${id} (${type}) never reached ${subscriber}`);
  for (const queue of queues) {
    if (queue.size() > 0) breaks(`5: ${queue.size()} messages are left on ${queue.name}`);
    if (queue.deadLetters.size > 0)
      breaks(`5: ${queue.deadLetters.size} dead letters are left of ${queue.name}`);
  }
}
