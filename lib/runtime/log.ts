/**
 * JSON logs, one line an entry. Our own, as the bundle's size allows no library (pino alone is 63 KB of 300).
 * A log belongs to one record: context is handed down by `child`, never kept, so nothing leaks into the next one.
 */
import type { Log, LogFields } from '#core/ports.ts';

const LEVELS = { debug: 10, info: 20, warn: 30, error: 40 } as const;
type Level = keyof typeof LEVELS;

/** Longest text of one field, in characters. */
const MAX_FIELD = 1000;
/** Names that only the log itself writes. */
const OWN = new Set(['level', 'time', 'message']);

const bounded = (value: string | number | boolean | undefined) =>
  typeof value === 'string' && value.length > MAX_FIELD ? `${value.slice(0, MAX_FIELD)}…` : value;

/** @param write takes one line without its end; default: standard output */
export function createLog(
  context: LogFields,
  least: string = 'info',
  write: (line: string) => void = (line) => process.stdout.write(`${line}\n`),
): Log {
  const from = LEVELS[least as Level] ?? LEVELS.info;
  const at =
    (level: Level) =>
    (message: string, fields: LogFields = {}): void => {
      if (LEVELS[level] < from) return;
      const line: Record<string, unknown> = {
        level: level.toUpperCase(),
        time: new Date().toISOString(),
        message: bounded(message),
      };
      for (const [name, value] of [...Object.entries(context), ...Object.entries(fields)])
        if (!OWN.has(name)) line[name] = bounded(value);
      write(JSON.stringify(line));
    };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => createLog({ ...context, ...fields }, least, write),
  };
}
