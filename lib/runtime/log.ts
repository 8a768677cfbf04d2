/**
 * JSON logs, one line an entry. Our own, as the bundle's size allows no library (pino alone is 63 KB of 300).
 * A log belongs to one record: context is handed down by `child`, never kept, so nothing leaks into the next one.
 */
import { isoTime } from '#core/iso-time.ts';
import type { Log, LogFields } from '#core/ports.ts';

const LEVELS = { debug: 10, info: 20, warn: 30, error: 40 } as const;
type Level = keyof typeof LEVELS;
const NAMES = { debug: 'DEBUG', info: 'INFO', warn: 'WARN', error: 'ERROR' } as const;

/** Longest text of one field, in characters. */
const MAX_FIELD = 1000;
/** Characters of all fields of a line: 60,000 bytes at most, even if every one must be escaped. */
const MAX_FIELDS = 10_000;

/** Whatever a task author's code hands over must neither throw nor bring an object's content in. */
function bounded(value: unknown): string | number | boolean | undefined {
  if (typeof value === 'string') return value.length > MAX_FIELD ? `${value.slice(0, MAX_FIELD)}…` : value;
  if (value === undefined || typeof value === 'number' || typeof value === 'boolean') return value;
  return typeof value === 'bigint' ? bounded(String(value)) : `<${typeof value}>`;
}

/** A getter of theirs may throw: their line is written without that field's value. */
function fieldOf(from: LogFields, name: string): string | number | boolean | undefined {
  try {
    return bounded(from[name]);
  } catch {
    return '<unreadable>';
  }
}

/**
 * Adds the fields that are not there already, as long as they are not too long together. No closure over the line: it
 * is made anew for each, and never gets as fast as a function that stays.
 * @param characters of all fields so far
 * @returns characters of all fields, those left out included
 */
function add(line: Record<string, unknown>, from: LogFields | undefined, characters: number): number {
  let sum = characters;
  // Task authors hand over anything, null too.
  for (const name in from) {
    if (!Object.hasOwn(from, name) || Object.hasOwn(line, name)) continue;
    const kept = fieldOf(from, name);
    sum += name.length + (typeof kept === 'string' ? kept.length : 0);
    if (sum <= MAX_FIELDS) line[name] = kept;
  }
  return sum;
}

/** What the log belongs to, the widest first: no field of a later line replaces it or crowds it out. */
function addLineage(line: Record<string, unknown>, of: Lineage): number {
  const lineage: Lineage[] = [];
  for (let at: Lineage | undefined = of; at !== undefined; at = at.parent) lineage.push(at);
  let characters = 0;
  for (let at = lineage.pop(); at !== undefined; at = lineage.pop())
    characters = add(line, at.fields, characters);
  return characters;
}

function lineOf(level: Level, message: string, of: Lineage, fields: LogFields | undefined): string {
  // The first three names are the log's own: no field replaces what is there already.
  const line: Record<string, unknown> = {
    level: NAMES[level],
    time: isoTime(Date.now()),
    message: bounded(message),
  };
  const characters = add(line, fields, addLineage(line, of));
  return JSON.stringify(characters <= MAX_FIELDS ? line : { ...line, dropped: 'some fields: too long' });
}

/** @param write takes one line without its end; default: standard output */
export function createLog(
  context: LogFields,
  least: string = 'info',
  write: (line: string) => void = (line) => process.stdout.write(`${line}\n`),
): Log {
  return new RecordLog(undefined, context, LEVELS[least as Level] ?? LEVELS.info, write);
}

const unheard = (): void => {};

/** What a log belongs to: its own fields, and the wider log that it is a child of. */
interface Lineage {
  readonly parent: Lineage | undefined;
  readonly fields: LogFields;
}

/**
 * Three logs are made for each record and one line is written: a log is no more than its place in the lineage, and its
 * functions are made when they are asked for. They need no `this`, so that whoever takes them out of the log can.
 */
class RecordLog implements Log, Lineage {
  readonly parent: Lineage | undefined;
  readonly fields: LogFields;
  private readonly least: number;
  private readonly write: (line: string) => void;

  constructor(parent: Lineage | undefined, fields: LogFields, least: number, write: (line: string) => void) {
    this.parent = parent;
    this.fields = fields;
    this.least = least;
    this.write = write;
  }

  get debug(): Log['debug'] {
    return this.at('debug');
  }
  get info(): Log['info'] {
    return this.at('info');
  }
  get warn(): Log['warn'] {
    return this.at('warn');
  }
  get error(): Log['error'] {
    return this.at('error');
  }
  get child(): Log['child'] {
    return (fields) => new RecordLog(this, fields, this.least, this.write);
  }

  private at(level: Level): Log['info'] {
    if (this.least > LEVELS[level]) return unheard;
    return (message, fields) => this.write(lineOf(level, message, this, fields));
  }
}
