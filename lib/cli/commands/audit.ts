import type { Command } from 'commander';
import { AUDIT_DAYS, type AuditEntry, auditPartitions, auditSince } from '#core/audit.ts';
import type { Store } from '#core/store.ts';
import { leaf, open, type Session, type SharedFlags, screenFor, span } from '../leaf.ts';
import type { Screen } from '../screen.ts';
import { cropped } from '../screen.ts';
import { table, timeOf } from '../text.ts';

const DEFAULT_SINCE_MS = 7 * 86_400_000;

export function addAudit(program: Command, session: Session): void {
  leaf(program, {
    usage: 'audit',
    summary: 'what operators did: who, when, what, to how many, with what outcome',
    examples: [
      ['npx edow audit', 'of the last seven days'],
      ['npx edow audit --since 30d --json', 'for a program'],
    ],
    notes: [
      `Entries are kept for ${AUDIT_DAYS} days. "begun" without an end: the action was cut short, or still runs.`,
      'Actions in the AWS console are not among them: CloudTrail has those.',
    ],
  })
    .option('--since <span>', 'how far back, as 2h or 7d (default: 7d)', span, DEFAULT_SINCE_MS)
    .action(async (flags: SharedFlags & { since: number }) => {
      const screen = screenFor(session, flags);
      const connection = await open(session, flags);
      const now = Date.now();
      const entries = await entriesSince(await connection.store(), now - flags.since, now);
      if (screen.json) return screen.emit({ entries: entries.map(shown) });
      if (entries.length === 0) return screen.print('No actions on record in this time.');
      show(screen, entries);
    });
}

/** Oldest first, as a trail is read. */
async function entriesSince(store: Store, from: number, now: number): Promise<readonly AuditEntry[]> {
  const entries: AuditEntry[] = [];
  for (const partition of auditPartitions(from, now)) {
    const items = (await store.partition(partition)) as unknown as AuditEntry[];
    entries.push(...auditSince(items, from, now));
  }
  return entries;
}

const iso = (time: number): string => new Date(time).toISOString();

const shown = ({ at, who, action, outcome, endedAt, counts, why, ...entry }: AuditEntry) => ({
  at: iso(at),
  who,
  action,
  arguments: entry.arguments,
  outcome,
  ...(endedAt !== undefined && { endedAt: iso(endedAt) }),
  ...(counts !== undefined && { counts }),
  ...(why !== undefined && { why }),
});

/** `name=value` pairs; values with blanks are quoted. */
const pairs = (record: Readonly<Record<string, string | number>>): string =>
  Object.entries(record)
    .map(([name, value]) => `${name}=${/\s/.test(String(value)) ? JSON.stringify(value) : value}`)
    .join(' ');

function show(screen: Screen, entries: readonly AuditEntry[]): void {
  const { paint, width } = screen;
  const colours = { begun: 'yellow', done: 'green', stopped: 'yellow', failed: 'red' } as const;
  const rows = entries.map((entry) => [
    timeOf(entry.at),
    // The end of an ARN names the person; --json has all of it.
    entry.who.split('/').at(-1) ?? entry.who,
    entry.action,
    paint(colours[entry.outcome], entry.outcome),
    pairs(entry.counts ?? {}) || '-',
    pairs(entry.arguments) || '-',
  ]);
  const [head = '', ...lines] = table(
    ['TIME (UTC)', 'WHO', 'ACTION', 'OUTCOME', 'COUNTS', 'ARGUMENTS'],
    rows,
    width,
  );
  screen.print(head);
  for (const [index, line] of lines.entries()) {
    screen.print(line);
    const why = entries[index]?.why;
    if (why !== undefined) screen.print(paint('dim', cropped(`  ${why}`, width)));
  }
}
