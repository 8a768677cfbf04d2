import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Connection } from '../connection.ts';
import { type DeadEntry, listDead } from '../dead-list.ts';
import { CliError, EXIT } from '../errors.ts';
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
import type { Source } from '../ports.ts';
import { type Replayed, replay } from '../replay.ts';
import type { Screen } from '../screen.ts';
import { cropped } from '../screen.ts';
import { plural, table, timeOf } from '../text.ts';

export function addDlq(program: Command, session: Session): void {
  const dlq = program.command('dlq').description('dead letters: list them, replay them').helpCommand(false);
  addList(dlq, session);
  addReplay(dlq, session);
}

/** The queues of one name, or all. */
async function sourcesOf(connection: Connection, pool: string | undefined): Promise<readonly Source[]> {
  const { sources } = await connection.pipeline();
  if (pool === undefined) return sources;
  const chosen = sources.filter(({ name }) => name === pool);
  if (chosen.length > 0) return chosen;
  throw new CliError(
    'unknown_pool',
    `there is no pool or queue "${pool}"; there are: ${sources.map(({ name }) => name).join(', ')}`,
    'Right: npx edow dlq ls --pool shipping',
    { exitCode: EXIT.usage },
  );
}

function addList(dlq: Command, session: Session): void {
  leaf(dlq, {
    usage: 'ls',
    summary: 'the dead letters with their reasons; looks only',
    examples: [
      ['npx edow dlq ls', 'of all queues'],
      ['npx edow dlq ls --pool shipping --json', 'of one, for a program'],
    ],
    notes: ['Looking hides a letter from other readers for up to 30 seconds.'],
  })
    .option('--pool <name>', 'of this pool or subscriber only')
    .action(async (flags: SharedFlags & { pool?: string }) => {
      const screen = screenFor(session, flags);
      const connection = await open(session, flags);
      const sources = await sourcesOf(connection, flags.pool);
      const { entries, complete } = await listDead(connection.letters, connection.lookUp, sources);
      if (screen.json) return screen.emit({ entries, complete });
      if (entries.length === 0) return screen.print('No dead letters.');
      showList(screen, entries);
      if (!complete) screen.print('There are more: this looks at about 200 a queue.');
      screen.print();
      screen.print('Fix the cause, then send them back: npx edow dlq replay   (or first: --dry-run)');
    });
}

function showList(screen: Screen, entries: readonly DeadEntry[]): void {
  const { paint, width } = screen;
  const rows = entries.map((entry) => [
    entry.source,
    entry.task ?? entry.type ?? entry.messageId,
    paint('red', entry.reason),
    entry.fingerprint ?? '-',
    timeOf(entry.firstAt),
    entry.lastAt === undefined ? '-' : timeOf(entry.lastAt),
    String(entry.tries ?? '-'),
    String(entry.replays),
  ]);
  const heads = ['QUEUE', 'TASK', 'REASON', 'FINGERPRINT', 'FIRST (UTC)', 'LAST', 'TRIES', 'REPLAYS'];
  const [head = '', ...lines] = table(heads, rows, width);
  screen.print(head);
  for (const [index, line] of lines.entries()) {
    screen.print(line);
    const entry = entries[index];
    if (entry?.error !== undefined)
      screen.print(paint('dim', cropped(`  ${entry.error}: ${entry.message ?? ''}`, width)));
  }
}

interface ReplayFlags extends SharedFlags {
  readonly pool?: string;
  readonly run?: string;
  readonly task?: string;
  readonly limit?: number;
  readonly rate: number;
  readonly dryRun?: boolean;
}

const DEFAULT_RATE = 10;

function addReplay(dlq: Command, session: Session): void {
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
