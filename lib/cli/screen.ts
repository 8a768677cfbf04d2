/** Where output goes: results to standard output, progress beside it, colours only for people. */
import { stripVTControlCharacters, styleText } from 'node:util';

export interface Stream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export interface Io {
  readonly stdin: AsyncIterable<Uint8Array | string> & { readonly isTTY?: boolean };
  readonly stdout: Stream;
  readonly stderr: Stream;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export type Paint = (format: Format, text: string) => string;
export type Format = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

export interface Screen {
  /** Results are JSON, for programs. */
  readonly json: boolean;
  /** Columns; infinite where nobody looks at it. */
  readonly width: number;
  readonly paint: Paint;
  /** A line of the result. */
  print(line?: string): void;
  /** The result as JSON. */
  emit(value: unknown): void;
  /** A line on what is under way: beside the result where that is JSON. */
  say(line?: string): void;
  /** A line that the next one replaces; only on a terminal. */
  passing(line: string): void;
  /** A line for the person only, on standard error. */
  warn(line: string): void;
}

export const widthOf = (text: string): number => stripVTControlCharacters(text).length;

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control sequences
const COLOUR_CODES = /(\u001b\[[0-9;]*m)/;

/** At most `width` columns, with an ellipsis where something was cut; colours stay. */
export function cropped(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let left = Math.max(0, width - 1);
  const parts = text.split(COLOUR_CODES).map((part, index) => {
    if (index % 2 === 1) return part;
    const kept = part.slice(0, left);
    left -= kept.length;
    return kept;
  });
  return `${parts.join('')}…`;
}

const LEAST_WIDTH = 40;

export function screenOn(io: Io, json: boolean): Screen {
  const progress = json ? io.stderr : io.stdout;
  const isPainted = !json && isForPeople(io.stdout, io.env);
  const clears = progress.isTTY === true && io.env['TERM'] !== 'dumb';
  let isPassing = false;
  const clear = (): void => {
    if (isPassing) progress.write('\r\u001b[2K');
    isPassing = false;
  };
  const line = (stream: Stream, text: string): void => {
    clear();
    stream.write(`${text}\n`);
  };
  return {
    json,
    width: io.stdout.isTTY ? Math.max(LEAST_WIDTH, io.stdout.columns ?? 80) : Number.POSITIVE_INFINITY,
    paint: (format, text) => (isPainted ? styleText(format, text, { validateStream: false }) : text),
    print: (text = '') => line(io.stdout, text),
    emit: (value) => line(io.stdout, JSON.stringify(value, null, 2)),
    say: (text = '') => line(progress, text),
    passing: (text) => {
      if (!clears) return;
      clear();
      progress.write(cropped(text, Math.max(LEAST_WIDTH, progress.columns ?? 80) - 1));
      isPassing = true;
    },
    warn: (text) => line(io.stderr, text),
  };
}

/** https://no-color.org: any value that is not empty turns colours off. */
const isForPeople = (stream: Stream, env: Io['env']): boolean =>
  stream.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
