/**
 * Ordered pools: tasks of one key take effect in order. A task that dies parks its key in the transaction of its death:
 * it is the head of a line, and what comes later dies at its claim and joins the line. Only the head may be claimed
 * again; once it is finished (done, refused, or cancelled with its run), the next claim of the key moves the line on.
 *
 * The line is a list of task ids through the items: PARK holds its `head` and `last`, each task the one that follows.
 */
import type { Command } from './envelope.ts';
import { asStep, isRefused, type StepItem, stepItemKey, taskIdOf } from './items.ts';
import {
  all,
  gone,
  type Item,
  type Key,
  missing,
  type Store,
  to,
  type Update,
  type WriteResult,
  where,
} from './store.ts';
import { applied } from './store-rules.ts';
import { transactTwice, Unsettled } from './write-twice.ts';

/** PK `PARK#pool#partitionkey`, SK `PARK`. Without a head nobody is parked. */
export interface ParkItem extends Key {
  /** Task ids of the first and of the last in line. */
  readonly head?: string;
  readonly last?: string;
  /** Whole epoch seconds; absent while somebody is parked. */
  readonly expiresAt?: number;
}

export const parkKey = (pool: string, partitionKey: string): Key => ({
  PK: `PARK#${pool}#${partitionKey}`,
  SK: 'PARK',
});

/** A line with somebody in it: both ends are set together. */
interface Standing extends Key {
  readonly head: string;
  readonly last: string;
}

const asStanding = (item: Item | undefined): Standing | undefined =>
  item?.['head'] === undefined ? undefined : (item as unknown as Standing);

/** Key of a task's item. Task ids are `runId/stepKey/index`, and neither part holds a slash. */
function keyOfTask(taskId: string): Key {
  const [runId, stepKey] = taskId.split('/');
  return stepItemKey(String(runId), String(stepKey));
}

/** Nothing more comes from it: the line may move on. A task that is not on record has expired with its run. */
const isFinished = (task: StepItem | undefined): boolean =>
  task === undefined ||
  task.status === 'done' ||
  task.status === 'cancelled' ||
  task.status === 'surplus' ||
  isRefused(task);

/** An empty line is remembered for a day, for those who look. */
const EMPTY_LINE_SECONDS = 86_400;

/** The finished head leaves the line. */
function moveOnOf(line: Standing, head: StepItem | undefined, now: number): Update {
  const key = { PK: line.PK, SK: line.SK };
  const isHead = where('head', '=', line.head);
  // Whoever follows was written into the item of the one before in the same transaction.
  const next = line.last === line.head ? undefined : head?.parkNext;
  return next === undefined
    ? {
        key,
        when: all(isHead, where('last', '=', line.last)),
        changes: { head: gone, last: gone, expiresAt: to(Math.floor(now / 1000) + EMPTY_LINE_SECONDS) },
      }
    : { key, when: isHead, changes: { head: to(next) } };
}

/** The writes of a death, first, and of its place in line. `line` as it was just read. */
function parkingOf(
  death: Update,
  task: StepItem,
  line: Standing | undefined,
  key: Key,
): [Update, ...Update[]] {
  const me = taskIdOf(task.runId, task.stepKey);
  const dies = { ...death, changes: { ...death.changes, parkedAt: to(key.PK), parkNext: gone } };
  if (line === undefined)
    return [dies, { key, when: missing('head'), changes: { head: to(me), last: to(me), expiresAt: gone } }];
  const isHead = where('head', '=', line.head);
  if (line.head === me || task.parkedAt === key.PK) return [death, { key, when: isHead, changes: {} }];
  return [
    dies,
    { key, when: all(isHead, where('last', '=', line.last)), changes: { last: to(me) } },
    { key: keyOfTask(line.last), when: where('parkedAt', '=', key.PK), changes: { parkNext: to(me) } },
  ];
}

/** Heads that one claim moves past; a longer line of finished ones is moved on by the next claims. */
const MOVES = 20;
/** Lost races for the last place. */
const ROUNDS = 5;

/** The line of one key. */
export interface Line {
  /**
   * Clears finished ones away and looks who is first. `free`: nobody is ahead. `busy`: others are still being cleared
   * away, come back in a second.
   */
  place(now: number): Promise<'free' | 'busy' | { readonly behind: string }>;
  /**
   * Writes a death and the task's place in line.
   * @throws Unsettled when nothing was written after several rounds, or the answer was lost
   */
  bury(death: Update, task: StepItem): Promise<WriteResult>;
}

/** A command of an ordered pool. */
export type Ordered = Pick<Command, 'id'> & { readonly partitionkey: string };

export function lineOf(store: Store, pool: string, command: Ordered): Line {
  const key = parkKey(pool, command.partitionkey);
  const standing = async (): Promise<Standing | undefined> => asStanding(await store.get(key));

  async function place(now: number): ReturnType<Line['place']> {
    for (let moves = 0; moves < MOVES; moves += 1) {
      const line = await standing();
      if (line === undefined) return 'free';
      const item = await store.get(keyOfTask(line.head));
      const head = item && asStep(item);
      if (!isFinished(head)) return line.head === command.id ? 'free' : { behind: line.head };
      await store.update(moveOnOf(line, head, now));
    }
    return 'busy';
  }

  async function bury(death: Update, task: StepItem): Promise<WriteResult> {
    let places = 2;
    for (let round = 0; round < ROUNDS; round += 1) {
      const writes = parkingOf(death, task, await standing(), key);
      const written = await transactTwice(store, writes.slice(0, 1 + places));
      if (written.written) return { written: true, item: applied(writes[0], task as unknown as Item) };
      const [own, line, before] = written.refusals;
      if (own?.why === 'condition') return { written: false, item: own.item as Item | undefined };
      // Only a place that somebody else took meanwhile is worth another look.
      if (line?.why !== 'condition' && before?.why !== 'condition') break;
      // The line is as it was read and its last one is not: it has expired with its run, and names nobody any more.
      if (line === undefined) places = 1;
    }
    throw new Unsettled('a death could not be written with its place in the line of its key');
  }

  return { place, bury };
}
