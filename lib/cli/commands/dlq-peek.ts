import type { Command } from 'commander';
import { type DeadEntry, listDead } from '../dead-list.ts';
import { boxesOf } from '../dead-sources.ts';
import { leaf, open, type Session, type SharedFlags, screenFor } from '../leaf.ts';
import type { Screen } from '../screen.ts';
import { cropped } from '../screen.ts';
import { table, timeOf } from '../text.ts';

export function addPeek(dlq: Command, session: Session): void {
  leaf(dlq, {
    usage: 'peek',
    summary: 'what lies in the dead-letter queues right now; looks only',
    examples: [
      ['npx edow dlq peek', 'of all queues, those of functions too'],
      ['npx edow dlq peek --pool shipping --json', 'of one, for a program'],
    ],
    notes: ['Looking hides a letter from other readers for up to 30 seconds.'],
  })
    .option('--pool <name>', 'of this pool, subscriber or function only')
    .action(async (flags: SharedFlags & { pool?: string }) => {
      const screen = screenFor(session, flags);
      const connection = await open(session, flags);
      const sources = await boxesOf(connection, flags.pool);
      const { entries, complete } = await listDead(connection.letters, connection.lookUp, sources);
      if (screen.json) return screen.emit({ entries, complete });
      if (entries.length === 0) return screen.print('No dead letters.');
      showList(screen, entries);
      if (!complete) screen.print('There are more: this looks at about 200 a queue.');
      screen.print();
      if (!entries.every(isLeftOver))
        screen.print('Fix the cause, then send them back: npx edow dlq replay   (or first: --dry-run)');
      if (entries.some(isLeftOver))
        screen.print(
          'Copies of finished tasks may go: npx edow dlq discard --because "left over" --reason WHY',
        );
    });
}

const isLeftOver = ({ reason }: DeadEntry): boolean => reason.startsWith('left over');

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
