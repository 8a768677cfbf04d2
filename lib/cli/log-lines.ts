/** Log entries of the functions as a person reads them. */
import type { LogEntry } from './ports.ts';
import type { Format, Paint } from './screen.ts';

const COLOURS: Readonly<Record<string, Format>> = {
  ERROR: 'red',
  WARN: 'yellow',
  INFO: 'cyan',
  DEBUG: 'dim',
};
/** Shown in front; ids that only help to find the entry elsewhere (`--json` shows them). */
const NOT_SHOWN = new Set(['level', 'time', 'message', 'stage', 'request', 'trace', 'correlation']);

/** `20:44:22.393 WARN  shipping  task will be tried again  task=01J.../ShipOrder/0 attempt=1`; other text as it is. */
export function logLine(source: string, { time, text }: LogEntry, paint: Paint): string {
  const clock = new Date(time).toISOString().slice(11, 23);
  const entry = parsed(text);
  if (entry === undefined) return `${paint('dim', clock)}       ${source}  ${paint('dim', oneLine(text))}`;
  const level = String(entry['level']);
  const fields = Object.entries(entry)
    .filter(([name]) => !NOT_SHOWN.has(name) && !isInTask(entry, name))
    .map(([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : String(value)}`);
  const colour = COLOURS[level];
  const shown = level.padEnd(5);
  return [
    `${paint('dim', clock)} ${colour === undefined ? shown : paint(colour, shown)}`,
    source,
    String(entry['message']),
    paint('dim', fields.join(' ')),
  ]
    .join('  ')
    .trimEnd();
}

/** A task's id begins with its run's. */
const isInTask = (entry: Record<string, unknown>, name: string): boolean =>
  name === 'run' && typeof entry['task'] === 'string';

/** One of our own log lines; the runtime's and the platform's are not. */
export function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isOurs = typeof value === 'object' && value !== null && 'level' in value && 'message' in value;
    return isOurs ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();
