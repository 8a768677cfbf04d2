import type { Command } from 'commander';
import { isBeyondTries, runKey, type StepItem, splitPartition, taskIdOf } from '#core/items.ts';
import { definitionChanged, resumeRun } from '#core/resume.ts';
import { audited } from '../audit.ts';
import type { Connection } from '../connection.ts';
import { CliError } from '../errors.ts';
import { leaf, open, runId, type Session, type SharedFlags, screenFor } from '../leaf.ts';
import { plural } from '../text.ts';

export function addResume(program: Command, session: Session): void {
  leaf(program, {
    usage: 'resume',
    summary: 'start a held run again: finished steps answer from memory, dead tasks are tried again',
    examples: [
      ['npx edow resume 01JDQ8Z6W3M2T9V5K7X0ABCDEF', 'after its cause was fixed'],
      ['npx edow resume 01JDQ8Z6W3M2T9V5K7X0ABCDEF --force', 'although its workflow was changed since'],
    ],
    notes: [
      'Replaying the dead letters (edow dlq replay) resumes a run by itself; this is for runs without any.',
    ],
  })
    .argument('<run>', 'id of the run', runId)
    .option('--force', 'accept a workflow that was changed since the run began')
    .action(async (id: string, flags: SharedFlags & { force?: boolean }) => {
      const screen = screenFor(session, flags);
      const connection = await open(session, flags);
      const force = flags.force === true;
      const resumed = await audited(connection, 'resume', { run: id, force }, async (notes) => {
        const outcome = await resume(connection, id, force);
        const { dead, undecided, execution } = outcome;
        notes.counts = { deadTasks: dead.length, undecided: undecided.length, execution };
        return outcome;
      });
      if (screen.json) return screen.emit(resumed);
      const { dead, undecided, execution } = resumed;
      if (dead.length > 0) {
        screen.print(`${plural(dead.length, 'dead task')} will be tried again: ${dead.join(', ')}`);
        screen.print(
          'Their dead letters stay where they are: a replay of them changes nothing once the tasks are done.',
        );
      }
      if (undecided.length > 0) {
        const tasks = `${plural(undecided.length, 'dead task')} will not be tried again`;
        screen.print(`${tasks}: each fails its state anew: ${undecided.join(', ')}`);
        screen.print(
          "That is a person's to decide: npx edow task resolve RUN/STEP/0 --done RESULT | --retry | --fail",
        );
      }
      screen.print(`Run ${id} goes on as execution ${execution}. Follow it: npx edow watch ${id}`);
    });
}

interface Resumed {
  readonly run: string;
  /** Number of the execution that was started. */
  readonly execution: number;
  /** Tasks that will be tried again. */
  readonly dead: readonly string[];
  /** Dead tasks that no execution tries again: their outcome is unknown, or somebody has said no. */
  readonly undecided: readonly string[];
}

async function resume(connection: Connection, id: string, force: boolean): Promise<Resumed> {
  const store = await connection.store();
  const { run, steps } = splitPartition(await store.partition(runKey(id).PK));
  if (run === undefined)
    throw new CliError(
      'unknown_run',
      `there is no run ${id} on ${connection.where}`,
      'List the runs: npx edow runs',
    );
  if (run.status !== 'held')
    throw new CliError(
      'not_held',
      `run ${id} is ${run.status}; only a held run can be resumed`,
      run.status === 'running' ? `Follow it: npx edow watch ${id}` : `Look at it: npx edow show ${id}`,
    );
  const { functions } = await connection.pipeline();
  const workflows = await connection.functions.workflows(functions['trigger'] ?? 'trigger');
  const deployed = workflows.get(run.workflow);
  if (deployed === undefined)
    throw new CliError(
      'workflow_not_deployed',
      `workflow ${run.workflow} of run ${id} is not deployed on ${connection.where}`,
      'Deploy it again, then resume.',
    );
  const changed = definitionChanged(run, deployed);
  if (changed !== undefined && !force)
    throw new CliError(
      'definition_changed',
      `run ${id} is not resumed: ${changed}`,
      `Deploy the earlier definition, or accept the new one: npx edow resume ${id} --force`,
    );
  const ports = { store, executions: connection.executions, clock: { now: () => Date.now() } };
  if ((await resumeRun(ports, run, deployed, false)) === 'lost')
    throw new CliError(
      'changed_meanwhile',
      `run ${id} was changed by somebody else at this moment`,
      `Look at it: npx edow show ${id}`,
    );
  const dead = steps.filter(({ status }) => status === 'dead');
  const idsOf = (some: readonly StepItem[]) => some.map(({ stepKey }) => taskIdOf(id, stepKey));
  return {
    run: id,
    execution: run.execution + 1,
    dead: idsOf(dead.filter((step) => !isBeyondTries(step))),
    undecided: idsOf(dead.filter(isBeyondTries)),
  };
}
