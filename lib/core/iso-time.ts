/** The text of a time, for what is written many times a second. */

let second = Number.NaN;
/** That second up to its fraction: `2026-11-30T02:05:45.` */
let text = '';

/**
 * ISO 8601 in UTC with milliseconds, as `Date` writes it, and faster: records and their log lines come many
 * a second, and what they have in common is kept.
 * @param time epoch milliseconds
 * @throws RangeError for what is no time
 */
export function isoTime(time: number): string {
  const now = Math.floor(time / 1000);
  if (now !== second) {
    text = new Date(time).toISOString().slice(0, -4);
    second = now;
  }
  const fraction = Math.floor(time - now * 1000);
  return `${text}${fraction < 10 ? '00' : fraction < 100 ? '0' : ''}${fraction}Z`;
}
