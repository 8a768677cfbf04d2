import type { Command } from 'commander';
import { taskIdOf } from '#core/items.ts';
import { whyNotResumed } from '#core/resume.ts';
import { audited } from '../audit.ts';
import { CliError, EXIT } from '../errors.ts';
import { jsonArgument } from '../json-argument.ts';
import { leaf, open, reason, type Session, type SharedFlags, screenFor, taskId } from '../leaf.ts';
import {
  assertDecidable,
  contractOf,
  type Decision,
  decide,
  digestOf,
  type Found,
  findTask,
  fittingResult,
} from '../resolve.ts';

interface Flags extends SharedFlags {
  readonly done?: string;
  readonly retry?: boolean;
  readonly fail?: boolean;
  readonly reason?: string;
}

const RIGHT = `Right: npx edow task resolve RUN/STEP/0 --done '{"shipmentId":"s-1"}'   (or --retry, or --fail)`;

export function addTask(program: Command, session: Session): void {
  const task = program.command('task').description('a dead task: decide it').helpCommand(false);
  leaf(task, {
    usage: 'resolve',
    summary: 'decide a dead task: its result is known, it shall be tried again, or it is refused for good',
    examples: [
      [`npx edow task resolve RUN/STEP/0 --done '{"shipmentId":"s-1"}'`, 'it was done: here is its result'],
      ['npx edow task resolve RUN/STEP/0 --done @result.json', 'the same, from a file'],
      ['npx edow task resolve RUN/STEP/0 --retry', 'try it again, with or without its dead letter'],
      ['npx edow task resolve RUN/STEP/0 --fail --reason "the customer cancelled"', 'never: its run fails'],
    ],
    notes: [
      'For tasks whose outcome is unknown (reason "unknown": look into the downstream first), for the head of a parked',
      'key, and for any other dead task of a run that is open. --done is checked against the output of its contract.',
    ],
  })
    .argument('<task>', 'id of the task: run/step/index', taskId)
    .option('--done <json|@file>', 'it is done, with this result')
    .option('--retry', 'a new round of tries under the same idempotency key')
    .option('--fail', 'refused for good: a held run ends as failed')
    .option('--reason <text>', 'why, kept with the task and in the audit trail', reason)
    .action(async (id: string, flags: Flags) => {
      const screen = screenFor(session, flags);
      const decision = await decisionOf(flags);
      const connection = await open(session, flags);
      const found = await findTask(connection, id);
      assertDecidable(found, decision);
      const checked =
        decision.how === 'done'
          ? { ...decision, result: fittingResult(found, contractOf(found.step.type), decision.result) }
          : decision;
      const { how, why } = checked;
      const digest = how === 'done' ? digestOf(checked.result) : undefined;
      const named = { task: id, as: how, reason: why, result: digest };
      const { run } = await audited(connection, 'task resolve', named, (notes, actor) => {
        notes.counts = { tasks: 1 };
        return decide(connection, found, checked, actor);
      });
      if (screen.json) return screen.emit({ task: id, as: how, run: { id: found.run.runId, status: run } });
      for (const line of saying(found, checked, run)) screen.print(line);
    });
}

/** Exactly one of the three. */
async function decisionOf({ done, retry, fail, reason: why }: Flags): Promise<Decision> {
  const more = why === undefined ? {} : { why };
  const given = [done !== undefined, retry === true, fail === true].filter(Boolean).length;
  if (given !== 1)
    throw new CliError(
      'usage',
      `task resolve needs one of --done, --retry and --fail; ${given === 0 ? 'none' : given} given`,
      RIGHT,
      { exitCode: EXIT.usage },
    );
  if (done !== undefined) return { how: 'done', result: await jsonArgument('--done', done, RIGHT), ...more };
  return { how: retry === true ? 'retry' : 'fail', ...more };
}

/** What was done, and what comes of it. */
function saying({ run, step, steps }: Found, { how }: Decision, status: string): string[] {
  const { runId } = run;
  const task = taskIdOf(runId, step.stepKey);
  const dead = steps.filter((one) => one.status === 'dead' && one.stepKey !== step.stepKey);
  const others = dead.map(({ stepKey }) => taskIdOf(runId, stepKey)).join(', ');
  const onward = onwardOf(run, steps, step, status, others);
  const letter = 'A letter of it in the dead letters is a left-over copy now; no worker acts on it.';
  switch (how) {
    case 'done':
      return [`Task ${task} is done, by your word.`, onward, letter];
    case 'retry':
      return [
        `Task ${task} is tried again; its command was sent to its queue.`,
        ...(step.reason === 'key_parked'
          ? [
              'It stands in line behind another task of its key: while that one is not decided, it dies again.',
            ]
          : []),
        onward,
        letter,
      ];
    case 'fail':
      return status === 'failed'
        ? [`Task ${task} is refused. Run ${runId} has failed; what had not finished is cancelled.`]
        : [
            `Task ${task} is refused. Run ${runId} is ${status} and fails when its execution ends, unless its workflow has caught that.`,
            `Should it be held instead, run this again: npx edow show ${runId}`,
          ];
  }
}

/** What comes of the run, once this task is done. */
function onwardOf(
  run: Found['run'],
  steps: Found['steps'],
  step: Found['step'],
  status: string,
  others: string,
): string {
  const { runId } = run;
  if (status !== 'held') return `Follow its run: npx edow watch ${runId}`;
  if (others !== '') return `Its run stays held until these are decided or replayed too: ${others}`;
  const after = steps.map((one) => (one === step ? { ...one, status: 'done' as const } : one));
  // In the end: a wait until its next resume is over by then.
  const obstacle = whyNotResumed(run, after, Number.MAX_SAFE_INTEGER);
  return obstacle === undefined
    ? `Its held run goes on by itself: npx edow watch ${runId}`
    : `Its held run does not go on by itself (${obstacle}): npx edow resume ${runId}`;
}
