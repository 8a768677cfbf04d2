/** Small texts: durations, times, tables. */
import { cropped, widthOf } from './screen.ts';

/** `0.4 s`, `12.3 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86_400)} d ${Math.floor((whole % 86_400) / 3600)} h`;
}

/** `2026-11-29 20:44:22`, in UTC as everywhere here. */
export const timeOf = (time: string | number): string =>
  new Date(time).toISOString().slice(0, 19).replace('T', ' ');

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;

/** Every member gets a column as wide as its widest cell; the last one is cut at `width`. */
export function table(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  width: number,
): string[] {
  const all = [heads, ...rows];
  const widths = heads.map((_, column) => Math.max(...all.map((row) => widthOf(row[column] ?? ''))));
  return all.map((row) =>
    cropped(
      row
        .map((cell, column) => (column === row.length - 1 ? cell : padded(cell, widths[column] ?? 0)))
        .join('  ')
        .trimEnd(),
      width,
    ),
  );
}

export const padded = (text: string, width: number): string =>
  text + ' '.repeat(Math.max(0, width - widthOf(text)));

/** Words on lines of at most `width` columns, each after `indent`. */
export function wrapped(text: string, width: number, indent = ''): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && indent.length + longer.length > width) {
      lines.push(indent + line);
      line = word;
    } else line = longer;
  }
  return [...lines, indent + line];
}
