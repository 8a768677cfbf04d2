/** A run as a person reads it: what happened when, and to what end. */
import type { AttemptView, RunView, StepView } from '#core/run-view.ts';
import { cropped, type Format, type Paint } from './screen.ts';
import { duration, padded, plural, timeOf } from './text.ts';

const COLOURS: Readonly<Record<string, Format>> = {
  succeeded: 'green',
  done: 'green',
  running: 'cyan',
  claimed: 'cyan',
  ready: 'cyan',
  retrying: 'yellow',
  held: 'yellow',
  failed: 'red',
  dead: 'red',
};
const MARKS: Readonly<Record<string, string>> = { done: '✓', dead: '✗', retrying: '↻', cancelled: '-' };

export const statusText = (paint: Paint, status: string): string => {
  const colour = COLOURS[status];
  return colour === undefined ? status : paint(colour, status);
};

const between = (from: string, to: string): number => Date.parse(to) - Date.parse(from);
const since = (run: RunView, time: string): string => `+${duration(between(run.startedAt, time))}`;

const INDENT = ' '.repeat(14); // below the step's name

/** @param now ISO 8601, for what is still going on */
export function timeline(run: RunView, now: string, paint: Paint, width: number): string[] {
  const lines = [
    `${paint('bold', `Run ${run.id}`)}  workflow ${run.workflow}  ${statusText(paint, run.status)}`,
    `  started ${timeOf(run.startedAt)} UTC, ${endOf(run, now)}, execution ${run.execution}`,
    ...(run.correlationId === run.id ? [] : [`  correlation id ${run.correlationId}`]),
    ...(run.cause === undefined ? [] : [paint('yellow', `  ${causeOf(run.cause)}`)]),
    '',
    ...run.steps.flatMap((step) => stepLines(run, step, now, paint)),
  ];
  if (run.steps.length === 0) lines.push('  no step has been entered yet');
  if (run.output !== undefined) lines.push('', `  output ${JSON.stringify(run.output)}`);
  return lines.map((line) => cropped(line, width));
}

function endOf(run: RunView, now: string): string {
  if (run.closedAt !== undefined) return `took ${duration(between(run.startedAt, run.closedAt))}`;
  if (run.status === 'held') return `held since ${timeOf(run.updatedAt)} UTC`;
  return `running for ${duration(between(run.startedAt, now))}`;
}

/** A failed task's cause is JSON for machines; the task itself stands below, with all of it. */
function causeOf({ execution, error, message }: NonNullable<RunView['cause']>): string {
  const readable = message?.startsWith('{') ? undefined : message;
  return [`the execution ended ${execution}`, error, readable]
    .filter((part) => part !== undefined)
    .join(': ');
}

function stepLines(run: RunView, step: StepView, now: string, paint: Paint): string[] {
  const { status, started, failure, reason } = step;
  const took = duration(between(step.enteredAt, step.endedAt ?? now));
  const colour = COLOURS[status] ?? 'dim';
  const tries = started === 1 ? '' : `, ${started === 0 ? 'not begun' : plural(started, 'try', 'tries')}`;
  const head = [
    since(run, step.enteredAt).padStart(11),
    paint(colour, MARKS[status] ?? '·'),
    padded(step.step, 16),
    padded(paint(colour, status), 9),
    padded(took, 10),
    paint('dim', `${step.type}${tries}`),
  ].join(' ');
  const lines = [head, ...step.attempts.map((attempt) => `${INDENT}${attemptText(run, attempt)}`)];
  if (status === 'done' && step.attempts.length > 0) {
    const at = step.endedAt === undefined ? '' : `  ${since(run, step.endedAt)}`;
    lines.push(`${INDENT}${paint('green', `try ${started}${at}  succeeded`)}`);
  }
  if (failure !== undefined)
    lines.push(
      `${INDENT}${paint('red', `gave up (${reason ?? 'no reason'})`)}  fingerprint ${failure.fingerprint}`,
    );
  else if (reason !== undefined) lines.push(`${INDENT}${paint('red', `gave up (${reason})`)}`);
  if (step.result !== undefined) lines.push(paint('dim', `${INDENT}result ${JSON.stringify(step.result)}`));
  return lines;
}

function attemptText(run: RunView, attempt: AttemptView): string {
  const { number, startedAt, endedAt, error, message } = attempt;
  if (attempt.outcome === 'lost') return `try ${number}  lost: its worker never came back`;
  const at = startedAt === undefined ? '' : `  ${since(run, startedAt)}`;
  const took =
    startedAt === undefined || endedAt === undefined ? '' : ` after ${duration(between(startedAt, endedAt))}`;
  return `try ${number}${at}  failed${took}  ${attempt.class}  ${error}: ${message}`;
}
