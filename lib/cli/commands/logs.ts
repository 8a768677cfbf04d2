import type { Command } from 'commander';
import type { Connection } from '../connection.ts';
import { CliError, EXIT } from '../errors.ts';
import { leaf, open, runId, type Session, type SharedFlags, screenFor, span, whole } from '../leaf.ts';
import { logLine, parsed } from '../log-lines.ts';
import { cropped } from '../screen.ts';
import { padded } from '../text.ts';

const DEFAULT_SINCE_MS = 600_000;
const DEFAULT_LIMIT = 200;

interface Flags extends SharedFlags {
  readonly run?: string;
  readonly since: number;
  readonly limit: number;
}

export function addLogs(program: Command, session: Session): void {
  leaf(program, {
    usage: 'logs [function]',
    summary: 'log entries of the functions, in order of time',
    examples: [
      ['npx edow logs', 'of all functions, the last ten minutes'],
      ['npx edow logs worker-shipping --since 2h', 'of one'],
      ['npx edow logs --run 01JDQ8Z6W3M2T9V5K7X0ABCDEF', 'of one run, through all functions'],
    ],
  })
    .option('--run <id>', 'entries that name this run', runId)
    .option('--since <span>', 'how far back, as 30s, 10m, 2h, 7d (default: 10m)', span, DEFAULT_SINCE_MS)
    .option('--limit <number>', 'at most so many, the newest', whole(1, 10_000), DEFAULT_LIMIT)
    .action(async (name: string | undefined, flags: Flags) => {
      const screen = screenFor(session, flags);
      const connection = await open(session, flags);
      const entries = await entriesOf(connection, name, flags);
      if (screen.json)
        return screen.emit(
          entries.map(({ source, entry: { time, text } }) => ({
            function: source,
            time: new Date(time).toISOString(),
            ...(parsed(text) ?? { text }),
          })),
        );
      if (entries.length === 0) screen.print('No log entries.');
      const width = Math.max(0, ...entries.map(({ source }) => source.length));
      for (const { source, entry } of entries)
        screen.print(cropped(logLine(padded(source, width), entry, screen.paint), screen.width));
    });
}

async function entriesOf(connection: Connection, name: string | undefined, flags: Flags) {
  const { functions } = await connection.pipeline();
  if (name !== undefined && functions[name] === undefined)
    throw new CliError(
      'unknown_function',
      `there is no function "${name}"; there are: ${Object.keys(functions).join(', ')}`,
      'Right: npx edow logs worker-shipping',
      { exitCode: EXIT.usage },
    );
  const chosen = Object.entries(functions).filter(([known]) => name === undefined || known === name);
  const query = {
    from: Date.now() - flags.since,
    limit: flags.limit,
    ...(flags.run !== undefined && { containing: flags.run }),
  };
  const found = await Promise.all(
    chosen.map(async ([source, functionName]) =>
      (await connection.functions.logs(functionName, query)).map((entry) => ({ source, entry })),
    ),
  );
  return found
    .flat()
    .sort((a, b) => a.entry.time - b.entry.time)
    .slice(-flags.limit);
}
