/** What every command has: its examples, the flags that choose a cloud, `--json`. */
import { resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { DEFAULT_STATE_DIR } from '#local/cloud.ts';
import type { StageName } from '#stacks/stack-names.ts';
import type { Connect, Connection } from './connection.ts';
import { type Io, type Screen, screenOn } from './screen.ts';
import { nameOf } from './target.ts';

/** One call of the command line. */
export interface Session {
  readonly io: Io;
  readonly connect: Connect;
  exitCode: number;
  /** Whom an error is about. */
  where: string;
  isLocal: boolean;
  /** The command that starts the local cloud again: next steps name it. */
  startAgain: string;
  /** What a person is told at Ctrl-C. */
  ifInterrupted: string;
  /** Work that is finished even then: half of it would leave a process behind that nobody knows. */
  unbroken?: Promise<unknown>;
}

export interface SharedFlags {
  readonly json?: boolean;
  readonly endpoint?: string;
  readonly stage?: StageName;
  readonly region?: string;
  readonly stateDir: string;
}

interface Described {
  /** The first example: the right call. */
  readonly example: string;
  readonly isRemote: boolean;
}

const described = new WeakMap<Command, Described>();

export const exampleOf = (command: Command): string | undefined => described.get(command)?.example;

interface Leaf {
  readonly usage: string;
  readonly summary: string;
  /** Calls as they are typed, with what they do; the first is shown when the command was called wrongly. */
  readonly examples: readonly (readonly [call: string, what: string])[];
  /** More to know, a line each. */
  readonly notes?: readonly string[];
}

/** A command on the local cloud only. */
export const localLeaf = (parent: Command, leaf: Leaf): Command => describe(parent, leaf, false);

/** A command on the cloud that its flags choose. */
export const leaf = (parent: Command, leaf: Leaf): Command => describe(parent, leaf, true);

function describe(parent: Command, { usage, summary, examples, notes }: Leaf, isRemote: boolean): Command {
  const command = parent.command(usage).description(summary).allowExcessArguments(false);
  described.set(command, { example: examples[0]?.[0] ?? '', isRemote });
  const width = Math.max(...examples.map(([call]) => call.length));
  const lines = examples.map(([call, what]) => `  ${call.padEnd(width)}  ${what}`.trimEnd());
  const more = notes === undefined ? [] : ['', ...notes];
  return command.addHelpText('after', ['', 'Examples:', ...lines, ...more].join('\n'));
}

/** The flags that all commands share, after their own. */
export function addSharedFlags(command: Command): void {
  const known = described.get(command);
  if (known === undefined) return;
  command.option('--json', 'results as JSON on standard output, progress and errors on standard error');
  if (known.isRemote)
    command
      .option('--endpoint <url>', 'LocalStack or another AWS API, with credentials from the environment', url)
      .addOption(
        new Option('--stage <name>', 'whose stacks (default: local on the local cloud, else dev)').choices([
          'local',
          'dev',
          'prod',
        ]),
      )
      .option('--region <name>', 'AWS region (default: AWS_REGION)');
  command.addOption(
    new Option('--state-dir <folder>', 'folder of the local cloud')
      .argParser((folder) => resolve(folder))
      .default(DEFAULT_STATE_DIR, '.edow/cloud'),
  );
}

export const screenFor = (session: Session, flags: SharedFlags): Screen =>
  screenOn(session.io, flags.json === true);

/** Connects, and lets errors say to what. */
export async function open(session: Session, flags: SharedFlags): Promise<Connection> {
  if (flags.endpoint !== undefined) Object.assign(session, { where: flags.endpoint, isLocal: false });
  const connection = await session.connect(flags);
  session.where = nameOf(connection.target);
  session.isLocal = connection.target.kind === 'local';
  return connection;
}

// Arguments. Commander puts their name in front of these messages.

const RUN_ID = /^[0-9A-HJKMNP-TV-Z]{26}$/;

export function runId(text: string): string {
  if (RUN_ID.test(text)) return text;
  throw new InvalidArgumentError(
    'A run id has 26 characters, digits and capitals: npx edow runs lists them.',
  );
}

export function taskId(text: string): string {
  if (/^[^/]+\/[^/]+\/\d+$/.test(text)) return text;
  throw new InvalidArgumentError('A task id is run/step/index: npx edow dlq ls lists them.');
}

/** Words of the operator: one line that somebody can read in a year. */
export function reason(text: string): string {
  const words = text.trim();
  if (words.length > 0 && words.length <= 300) return words;
  throw new InvalidArgumentError('Allowed: 1 to 300 characters.');
}

/** A whole number within bounds. */
export const whole =
  (from: number, until: number) =>
  (text: string): number => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= from && value <= until) return value;
    throw new InvalidArgumentError(`Allowed: a whole number from ${from} to ${until}.`);
  };

/** Calls a second; fractions are slow paces. */
export function rate(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value >= 0.01 && value <= 1000) return value;
  throw new InvalidArgumentError('Allowed: a number from 0.01 to 1000.');
}

/** A share. */
export function ratio(text: string): number {
  const value = Number(text);
  if (/^[01]?(\.\d+)?$/.test(text) && text !== '' && value <= 1) return value;
  throw new InvalidArgumentError('Allowed: a number from 0 to 1, as in 0.1.');
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `30s`, `10m`, `2h`, `7d` in milliseconds. */
export function span(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const factor = UNITS[unit];
  if (count !== undefined && factor !== undefined && Number(count) > 0) return Number(count) * factor;
  throw new InvalidArgumentError('Allowed: a number and s, m, h or d, as in 10m.');
}

function url(text: string): string {
  if (URL.canParse(text) && /^https?:\/\//.test(text)) return text;
  throw new InvalidArgumentError('Allowed: an http or https URL, as in http://127.0.0.1:4566.');
}
