/**
 * JSON logs, one line an entry. Our own, as the bundle's size allows no library (pino alone is 63 KB of 300).
 * A log belongs to one record: context is handed down by `child`, never kept, so nothing leaks into the next one.
 */
import type { Log, LogFields } from '#core/ports.ts';

const LEVELS = { debug: 10, info: 20, warn: 30, error: 40 } as const;
type Level = keyof typeof LEVELS;

/** Longest text of one field, in characters. */
const MAX_FIELD = 1000;
/** Characters of all fields of a line: 60,000 bytes at most, even if every one must be escaped. */
const MAX_FIELDS = 10_000;
/** Names that only the log itself writes. */
const OWN = new Set(['level', 'time', 'message']);

/** Whatever a task author's code hands over must neither throw nor bring an object's content in. */
function bounded(value: unknown): string | number | boolean | undefined {
  if (typeof value === 'string') return value.length > MAX_FIELD ? `${value.slice(0, MAX_FIELD)}…` : value;
  if (value === undefined || typeof value === 'number' || typeof value === 'boolean') return value;
  return typeof value === 'bigint' ? bounded(String(value)) : `<${typeof value}>`;
}

function lineOf(
  level: Level,
  message: string,
  contexts: readonly LogFields[],
  fields: LogFields | undefined,
): string {
  const line: Record<string, unknown> = {
    level: level.toUpperCase(),
    time: new Date().toISOString(),
    message: bounded(message),
  };
  let characters = 0;
  const add = (from: LogFields | undefined): void => {
    // Task authors hand over anything, null too.
    for (const name in from) {
      if (!Object.hasOwn(from, name) || OWN.has(name) || Object.hasOwn(line, name)) continue;
      const kept = bounded(from[name]);
      characters += name.length + (typeof kept === 'string' ? kept.length : 0);
      if (characters <= MAX_FIELDS) line[name] = kept;
    }
  };
  // What the log belongs to comes first: no field of a later line replaces it or crowds it out.
  for (const context of contexts) add(context);
  add(fields);
  return JSON.stringify(characters <= MAX_FIELDS ? line : { ...line, dropped: 'some fields: too long' });
}

/** @param write takes one line without its end; default: standard output */
export function createLog(
  context: LogFields,
  least: string = 'info',
  write: (line: string) => void = (line) => process.stdout.write(`${line}\n`),
): Log {
  return logOf([context], LEVELS[least as Level] ?? LEVELS.info, write);
}

const unheard = (): void => {};

/** @param contexts what the log belongs to, the widest first; joined only where a line is written */
function logOf(contexts: readonly LogFields[], least: number, write: (line: string) => void): Log {
  // Three logs are made for each record: a level that is not written shares its function.
  return {
    debug: least > LEVELS.debug ? unheard : (text, fields) => write(lineOf('debug', text, contexts, fields)),
    info: least > LEVELS.info ? unheard : (text, fields) => write(lineOf('info', text, contexts, fields)),
    warn: least > LEVELS.warn ? unheard : (text, fields) => write(lineOf('warn', text, contexts, fields)),
    error: (text, fields) => write(lineOf('error', text, contexts, fields)),
    child: (fields) => logOf([...contexts, fields], least, write),
  };
}
