/** What a person reads of a replay. */
import type { Difference } from './json-patch.ts';
import type { Outcomes } from './outcome-watch.ts';
import type { Replayed, ReplayReport } from './replay.ts';
import type { Screen } from './screen.ts';
import { plural } from './text.ts';

/** What is told while a replay runs. */
export const tellOn = (screen: Screen, dryRun: boolean) => ({
  sent: (replayed: Replayed): void => {
    screen.say(lineOf(replayed, dryRun));
    if (dryRun) for (const line of linesOf(replayed).slice(1)) screen.say(line);
  },
  waiting: ({ done, dead, open: still }: Outcomes): void =>
    screen.passing(`waiting for outcomes: ${done} done, ${dead} dead again, ${still} open`),
});

const nameOf = ({ task, type, messageId }: Replayed): string => task ?? type ?? messageId;

const lineOf = (replayed: Replayed, dryRun: boolean): string =>
  `  ${dryRun ? 'would send' : 'sent'} ${replayed.source}  ${nameOf(replayed)}  replay ${replayed.replay}${
    replayed.changes === undefined ? '' : '  edited'
  }`;

const MAX_SHOWN = 20;
const sideOf = (value: string | undefined): string => (value === undefined ? '(nothing)' : value);

/** The difference that an edit makes, a line for each place. */
export function linesOf(replayed: Replayed): string[] {
  const changes: readonly Difference[] = replayed.changes ?? [];
  const shown = changes.slice(0, MAX_SHOWN);
  const more = changes.length - shown.length;
  return [
    `  ${nameOf(replayed)}`,
    ...shown.map(
      ({ pointer, before, after }) => `    ${pointer || '/'}: ${sideOf(before)} -> ${sideOf(after)}`,
    ),
    ...(more > 0 ? [`    and ${more} more`] : []),
  ];
}

export function showReplay(screen: Screen, dryRun: boolean, report: ReplayReport): void {
  if (screen.json) {
    screen.emit({ dryRun, ...report });
    return;
  }
  const { sent, left, unreadable, undecided, crowded, complete, outcomes, stopped } = report;
  screen.print(
    `${plural(sent.length, 'dead letter')} ${dryRun ? 'would be sent' : 'sent'} back, ${left} left.`,
  );
  if (outcomes !== undefined)
    screen.print(
      `Of the tasks ${outcomes.done} are done, ${outcomes.dead} dead again, ${outcomes.open} open.`,
    );
  if (stopped !== undefined) {
    screen.print(screen.paint('red', `Stopped: ${stopped}.`));
    screen.print('The rest was not sent. What died again: npx edow dlq ls');
  }
  if (unreadable > 0) screen.print(`${unreadable} cannot be read by any function and stay: npx edow dlq ls`);
  if (crowded > 0)
    screen.print(
      `${crowded} have ten attributes already and stay: AWS's redrive sends them back as they are.`,
    );
  if (undecided > 0)
    screen.print(
      `${undecided} wait for a person's word or were refused, which no copy changes: npx edow task resolve --help`,
    );
  if (!complete) screen.print('There may be more: run this again.');
  if (sent.length > 0 && !dryRun && stopped === undefined)
    screen.print('Held runs go on by themselves: npx edow runs --status held');
}
