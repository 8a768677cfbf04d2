import { type Command, Option } from 'commander';
import { leaf, open, type Session, type SharedFlags, screenFor, whole } from '../leaf.ts';
import type { RunQuery } from '../ports.ts';
import { duration, table, timeOf } from '../text.ts';
import { statusText } from '../timeline.ts';

export function addRuns(program: Command, session: Session): void {
  leaf(program, {
    usage: 'runs',
    summary: 'the list of runs, newest first',
    examples: [
      ['npx edow runs', 'the newest 20'],
      ['npx edow runs --workflow order --status held', 'what waits for a fix'],
      ['npx edow runs --limit 100 --cursor CURSOR', 'the next page, by the cursor that this one printed'],
    ],
  })
    .option('--workflow <name>', 'of this workflow only')
    .addOption(
      new Option('--status <status>', 'in this state only').choices([
        'running',
        'held',
        'succeeded',
        'failed',
      ]),
    )
    .option('--limit <number>', 'at most so many, 1 to 100 (default: 20)', whole(1, 100))
    .option('--cursor <text>', 'where an earlier page ended')
    .action(async (flags: SharedFlags & RunQuery) => {
      const screen = screenFor(session, flags);
      const { workflow, status, limit, cursor } = flags;
      const query = {
        ...(workflow !== undefined && { workflow }),
        ...(status !== undefined && { status }),
        ...(limit !== undefined && { limit }),
        ...(cursor !== undefined && { cursor }),
      };
      const page = await (await (await open(session, flags)).api()).runs(query);
      if (screen.json) return screen.emit(page);
      if (page.runs.length === 0) return screen.print('No runs.');
      const rows = page.runs.map((run) => [
        run.id,
        run.workflow,
        statusText(screen.paint, run.status),
        String(run.execution),
        timeOf(run.startedAt),
        duration(Date.parse(run.updatedAt) - Date.parse(run.startedAt)),
      ]);
      const heads = ['RUN', 'WORKFLOW', 'STATUS', 'EXECUTION', 'STARTED (UTC)', 'LAST CHANGE AFTER'];
      for (const line of table(heads, rows, screen.width)) screen.print(line);
      if (page.next !== undefined) screen.print(`More: ${nextPage(query, page.next)}`);
    });
}

/** The same question with the next page's cursor. */
function nextPage({ workflow, status, limit }: RunQuery, cursor: string): string {
  const flags = Object.entries({ workflow, status, limit, cursor }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name} ${value}`],
  );
  return ['npx edow runs', ...flags].join(' ');
}
