import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { sourcesOf } from '../dead-sources.ts';
import {
  leaf,
  open,
  rate,
  runId,
  type Session,
  type SharedFlags,
  screenFor,
  taskId,
  whole,
} from '../leaf.ts';
import { type Replayed, replay } from '../replay.ts';
import { plural } from '../text.ts';

interface ReplayFlags extends SharedFlags {
  readonly pool?: string;
  readonly run?: string;
  readonly task?: string;
  readonly limit?: number;
  readonly rate: number;
  readonly dryRun?: boolean;
}

const DEFAULT_RATE = 10;

export function addReplay(dlq: Command, session: Session): void {
  leaf(dlq, {
    usage: 'replay',
    summary: 'send dead letters back to their queue, at a steady pace',
    examples: [
      ['npx edow dlq replay', 'all of them'],
      ['npx edow dlq replay --dry-run', 'show what would be sent'],
      ['npx edow dlq replay --pool shipping --limit 1', 'one, to see whether the fix holds'],
      ['npx edow dlq replay --run 01JDQ8Z6W3M2T9V5K7X0ABCDEF', 'those of one run'],
    ],
    notes: [
      'Each letter goes back unchanged but for its replay number, and is deleted only then: cut short, it can be run',
      'again. A replayed task that succeeds lets its held run go on by itself.',
    ],
  })
    .option('--pool <name>', 'of this pool or subscriber only')
    .option('--run <id>', 'of this run only', runId)
    .option('--task <id>', 'of this task only', taskId)
    .option('--limit <number>', 'at most so many', whole(1, 1_000_000))
    .option('--rate <number>', 'letters a second', rate, DEFAULT_RATE)
    .option('--dry-run', 'send nothing')
    .action(async (flags: ReplayFlags) => {
      const screen = screenFor(session, flags);
      const connection = await open(session, flags);
      const { run, task, limit } = flags;
      const dryRun = flags.dryRun === true;
      session.ifInterrupted = 'stopped. No letter is lost: what was sent is sent, run it again for the rest.';
      const report = await replay(
        { letters: connection.letters, lookUp: connection.lookUp, now: Date.now, sleep },
        {
          sources: await sourcesOf(connection, flags.pool),
          rate: flags.rate,
          dryRun,
          ...(run !== undefined && { run }),
          ...(task !== undefined && { task }),
          ...(limit !== undefined && { limit }),
        },
        (replayed) => screen.say(lineOf(replayed, dryRun)),
      );
      if (screen.json) return screen.emit({ dryRun, ...report });
      const { sent, left, unreadable, complete } = report;
      screen.print(
        `${plural(sent.length, 'dead letter')} ${dryRun ? 'would be sent' : 'sent'} back, ${left} left.`,
      );
      if (unreadable > 0)
        screen.print(`${unreadable} cannot be read by any function and stay: npx edow dlq ls`);
      if (!complete) screen.print('There are more: run this again.');
      if (sent.length > 0 && !dryRun)
        screen.print('Held runs go on by themselves: npx edow runs --status held');
    });
}

const lineOf = ({ source, task, type, messageId, replay: number }: Replayed, dryRun: boolean): string =>
  `  ${dryRun ? 'would send' : 'sent'} ${source}  ${task ?? type ?? messageId}  replay ${number}`;
