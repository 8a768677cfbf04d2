import type { Command } from 'commander';
import type { DeadRow } from '#core/dead-rows.ts';
import type { Connection } from '../connection.ts';
import { type DeadGroup, grouped, idOf, indexedDead, isMeant, poolOfRow } from '../dead-index.ts';
import { sourcesOf } from '../dead-sources.ts';
import { leaf, open, type Session, screenFor } from '../leaf.ts';
import { addLetterFlags, filterOf, type LetterFlags } from '../letter-flags.ts';
import type { Screen } from '../screen.ts';
import { cropped } from '../screen.ts';
import { plural, table, timeOf } from '../text.ts';

interface ListFlags extends LetterFlags {
  readonly all?: boolean;
  readonly reason?: string;
}

export function addList(dlq: Command, session: Session): void {
  const command = leaf(dlq, {
    usage: 'ls',
    summary: 'what is dead, by cause; reads the index, touches no queue',
    examples: [
      ['npx edow dlq ls', 'one line a cause: how many, since when, which error'],
      ['npx edow dlq ls --all --since 2h', 'each dead task of the last two hours'],
      ['npx edow dlq ls --fingerprint 3f2a9c01d4e7 --json', 'of one cause, for a program'],
    ],
    notes: [
      'The index follows the events of tasks by about two seconds, longer while events wait; what died without our code',
      'running is found within some three minutes. For what lies in a queue right now: npx edow dlq peek',
    ],
  });
  addLetterFlags(command, '--reason')
    .option('--all', 'each task or message, not only causes')
    .action((flags: ListFlags) => list(session, flags));
}

/** How far the index may be behind: events that its projector has still to take. */
async function eventsWaiting(connection: Connection): Promise<number> {
  const { sources } = await connection.pipeline();
  const project = sources.find(({ name }) => name === 'project');
  if (project === undefined) return 0;
  const { waiting, inFlight } = await connection.depths(project.queueUrl);
  return waiting + inFlight;
}

async function list(session: Session, flags: ListFlags): Promise<void> {
  const screen = screenFor(session, flags);
  const connection = await open(session, flags);
  if (flags.pool !== undefined) await sourcesOf(connection, flags.pool); // says so where there is none
  const now = Date.now();
  const filter = {
    ...filterOf(flags, flags.reason, now),
    ...(flags.pool !== undefined && { pool: flags.pool }),
  };
  const pool = poolOfRow((await connection.pipeline()).sources);
  const behind = await eventsWaiting(connection);
  const all = await indexedDead(await connection.views(), filter.since);
  const rows = all.filter((row) => isMeant(row, filter, pool(row)));
  const groups = grouped(rows, pool);
  const asOf = { readAt: new Date(now).toISOString(), eventsWaiting: behind };
  if (screen.json)
    return screen.emit(
      flags.all === true
        ? { ...asOf, entries: rows.map((row) => ({ ...row, pool: pool(row) })) }
        : { ...asOf, groups },
    );
  if (rows.length === 0) screen.print('Nothing is dead.');
  else if (flags.all === true) showRows(screen, rows, pool);
  else showGroups(screen, groups);
  if (behind > 0)
    screen.print(
      `${plural(behind, 'event')} of the last moments ${behind === 1 ? 'is' : 'are'} not in here yet.`,
    );
  if (rows.length === 0) return;
  screen.print();
  screen.print(
    'One of them: npx edow dlq show ID. Fix the cause, then: npx edow dlq replay   (or first: --dry-run)',
  );
}

function showGroups(screen: Screen, groups: readonly DeadGroup[]): void {
  const { paint, width } = screen;
  const rows = groups.map((group) => [
    String(group.count),
    group.fingerprint ?? '-',
    paint('red', group.reasons.join(',')),
    group.pools.join(',') || '-',
    timeOf(group.firstAt),
    timeOf(group.lastAt),
    group.newest,
  ]);
  const heads = ['COUNT', 'FINGERPRINT', 'REASON', 'POOL', 'FIRST (UTC)', 'LAST', 'NEWEST'];
  const [head = '', ...lines] = table(heads, rows, width);
  screen.print(head);
  for (const [index, line] of lines.entries()) {
    screen.print(line);
    const { error, message } = groups[index] ?? {};
    const said = [error, message].filter((part) => part !== undefined).join(': ');
    if (said !== '') screen.print(paint('dim', cropped(`  ${said}`, width)));
  }
}

function showRows(
  screen: Screen,
  rows: readonly DeadRow[],
  pool: (row: DeadRow) => string | undefined,
): void {
  const lines = rows.map((row) => [
    pool(row) ?? '-',
    idOf(row),
    screen.paint('red', row.reason),
    (row.kind === 'task' && row.fingerprint) || '-',
    timeOf(row.firstAt),
    timeOf(row.lastAt),
    row.kind === 'task' ? String(row.started ?? '-') : '-',
    row.kind === 'task' ? String(row.deaths ?? '-') : '-',
    row.kind === 'task' ? row.error : `${row.bytes} bytes, ${row.hash.slice(0, 12)}`,
  ]);
  const heads = ['POOL', 'TASK', 'REASON', 'FINGERPRINT', 'FIRST (UTC)', 'LAST', 'TRIES', 'DEATHS', 'ERROR'];
  for (const line of table(heads, lines, screen.width)) screen.print(line);
}
