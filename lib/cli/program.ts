/** The command line: which commands there are, and what becomes of their errors. */
import { Command, CommanderError } from 'commander';
import { addAudit } from './commands/audit.ts';
import { addDemo } from './commands/demo.ts';
import { addDeploy } from './commands/deploy.ts';
import { addDlq } from './commands/dlq.ts';
import { addDown } from './commands/down.ts';
import { addLogs } from './commands/logs.ts';
import { addPool } from './commands/pool.ts';
import { addResume } from './commands/resume.ts';
import { addRuns } from './commands/runs.ts';
import { addShow } from './commands/show.ts';
import { addStart } from './commands/start.ts';
import { addStatus } from './commands/status.ts';
import { addTask } from './commands/task.ts';
import { addUp } from './commands/up.ts';
import { addWatch } from './commands/watch.ts';
import type { Connect } from './connection.ts';
import { CliError, EXIT, explain } from './errors.ts';
import { addSharedFlags, exampleOf, type Session } from './leaf.ts';
import { type Io, type Screen, screenOn } from './screen.ts';

const AFTER = `
Which cloud: the local one, if it was started here (edow up); --endpoint URL for LocalStack or any other AWS API;
else AWS, with your usual credentials and region, stage dev (--stage prod for the other).

A first look:
  npx edow demo                 everything in two minutes, on this machine
  npx edow up                   start the local cloud and deploy to it
  npx edow start order --input order.json
  npx edow status               queues, dead letters, open and held runs

Exit codes: 0 done, 1 failed, 2 wrong use; watch: 3 held or failed, 4 time is up.`;

export interface Host {
  readonly connect: Connect;
  /** Calls back at Ctrl-C; the process ends with the code that comes back. Default: never. */
  readonly onInterrupt?: (act: () => Promise<number>) => void;
}

/** Runs one command line; returns the exit code. */
export async function runCommand(argv: readonly string[], io: Io, host: Host): Promise<number> {
  const session: Session = {
    io,
    connect: host.connect,
    exitCode: EXIT.ok,
    where: 'the cloud',
    isLocal: true,
    startAgain: 'npx edow up',
    ifInterrupted: 'stopped',
  };
  const program = programOf(session);
  // Errors before the flags are read: whoever asked for JSON gets JSON.
  const screen = screenOn(io, argv.includes('--json'));
  host.onInterrupt?.(async () => {
    screen.warn(`\nedow: ${session.ifInterrupted}`);
    await session.unbroken?.catch(() => {});
    return EXIT.interrupted;
  });
  try {
    if (argv.length === 0) program.help();
    await program.parseAsync(argv, { from: 'user' });
    return session.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return report(error, session, screen);
  }
}

function programOf(session: Session): Command {
  const { io } = session;
  const program = new Command('edow')
    .description('Operate event-driven workflows: the local cloud, runs, dead letters.')
    .helpCommand(false)
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: false })
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: () => {},
      outputError: () => {},
      getOutHelpWidth: () => (io.stdout.isTTY ? (io.stdout.columns ?? 80) : 110),
      getOutHasColors: () => false,
    })
    .addHelpText('after', AFTER);
  refuseWrongUse(program);
  for (const add of [
    addDemo,
    addUp,
    addDown,
    addStatus,
    addDeploy,
    addStart,
    addShow,
    addRuns,
    addWatch,
    addResume,
    addDlq,
    addTask,
    addPool,
    addLogs,
    addAudit,
  ])
    add(program, session);
  for (const command of allOf(program)) {
    addSharedFlags(command);
    refuseWrongUse(command);
  }
  return program;
}

const allOf = (parent: Command): Command[] =>
  parent.commands.flatMap((command) => [command, ...allOf(command)]);

/** What commander refuses becomes one line on what is wrong and one with the right call. */
function refuseWrongUse(command: Command): void {
  command.exitOverride((error) => {
    if (error.exitCode === 0) throw error;
    throw new CliError('usage', problemOf(error, command), rightCall(command), { exitCode: EXIT.usage });
  });
}

function problemOf({ code, message }: CommanderError, command: Command): string {
  if (code === 'commander.help')
    return `${nameOf(command)} needs one of: ${command.commands.map((sub) => sub.name()).join(', ')}`;
  return message
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ')
    .replace(/^command-argument value '(.*?)' is invalid for argument '(.*?)'\./, "'$1' is no $2.");
}

const nameOf = (command: Command): string =>
  command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();

function rightCall(command: Command): string {
  const help = `npx ${nameOf(command)} --help`;
  const example = exampleOf(command);
  return example === undefined ? `See: ${help}` : `Right: ${example} (more: ${help})`;
}

function report(error: unknown, session: Session, screen: Screen): number {
  const { code, message, exitCode, ...explained } = explain(error, session.where, session.isLocal);
  const nextStep = explained.nextStep.replaceAll('npx edow up', session.startAgain);
  if (session.io.env['EDOW_DEBUG'] && error instanceof Error) screen.warn(error.stack ?? '');
  if (screen.json) screen.warn(JSON.stringify({ error: { code, message, nextStep } }));
  else {
    screen.warn(`edow: ${message}`);
    screen.warn(`      ${nextStep}`);
  }
  return exitCode;
}
