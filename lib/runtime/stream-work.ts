/** How a batch of changes is worked on: in parts, each with the time of one record. */
import { errorFields } from '#core/errors.ts';
import { lanes } from '#core/lanes.ts';
import type { Log } from '#core/ports.ts';
import type { Item } from '#core/store.ts';
import { inTime, recordTime } from './in-time.ts';

/** Records of a stream handled at the same time: answers stay well under the account's 500 a second. */
export const LANES = 10;

/** One change of an item. */
export interface Change {
  readonly before: Item | undefined;
  readonly after: Item;
}

/**
 * Handles changes; returns those that must be tried again. An error means all of them.
 * @param mayBegin whether there is time for one more record
 */
export type Work = (
  changes: readonly Change[],
  log: Log,
  mayBegin: () => boolean,
) => Promise<readonly Change[]>;

/** Handles each change alone, a few at a time; an error sets only its own change aside. */
export const eachChange = (one: (change: Change, log: Log) => Promise<void>): Work =>
  inParts(
    (changes) => changes.map((change) => [change]),
    async ([change], log) => {
      if (change) await one(change, log);
      return [];
    },
  );

/** Calls to the topic at the same time. */
const TOLD_AT_ONCE = 5;
/** Changes told by one call: the topic takes ten. */
const TOLD_TOGETHER = 10;

/** Handles changes by tens, all changes of one item together and in their order. */
export const tenTogether = (some: (changes: readonly Change[]) => Promise<readonly Change[]>): Work =>
  inParts(byTens, some, TOLD_AT_ONCE);

function byTens(changes: readonly Change[]): Change[][] {
  const items = new Map<string, Change[]>();
  for (const change of changes) {
    const key = JSON.stringify([change.after.PK, change.after.SK]);
    items.set(key, [...(items.get(key) ?? []), change]);
  }
  const parts: Change[][] = [];
  for (const item of items.values()) {
    const last = parts.at(-1);
    if (last && last.length + item.length <= TOLD_TOGETHER) last.push(...item);
    else parts.push([...item]);
  }
  return parts;
}

/** Cuts changes into parts that have a record's time each; a part that fails, or cannot begin, is left as a whole. */
function inParts(
  cut: (changes: readonly Change[]) => readonly (readonly Change[])[],
  work: (part: readonly Change[], log: Log) => Promise<readonly Change[]>,
  width = LANES,
): Work {
  return async (changes, log, mayBegin) => {
    const left: Change[] = [];
    let notBegun = 0;
    await lanes(cut(changes), width, async (part) => {
      try {
        if (mayBegin()) left.push(...(await inTime(() => work(part, log), part.length)));
        else {
          notBegun += part.length;
          left.push(...part);
        }
      } catch (error) {
        log.error('record failed', errorFields(error));
        left.push(...part);
      }
    });
    if (notBegun > 0) {
      recordTime.handedBack(notBegun);
      log.error('no time left for these records', { records: notBegun });
    }
    return left;
  };
}
