/** Watches what becomes of replayed tasks: done, dead again, or neither yet. */
import type { StepItem } from '#core/items.ts';
import type { TaskLookup } from './ports.ts';

export interface WatchPorts {
  readonly lookUp: TaskLookup;
  readonly now: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
}

export interface Outcomes {
  /** Done, or ended with their run: no worker acts on them any more. */
  readonly done: number;
  /** Died again since they were sent. */
  readonly dead: number;
  /** No outcome yet. */
  readonly open: number;
  /** Of the dead, the first few, with what they died of. */
  readonly examples: readonly { readonly task: string; readonly error: string }[];
}

interface Sent {
  readonly task: string;
  readonly run: string;
  readonly step: string;
  readonly deaths: number;
}

const LOOK_MS = 1_000;
const MAX_EXAMPLES = 3;
/** Reads of one look. */
const MAX_READS = 25;

export function outcomeWatch({ lookUp, now, sleep }: WatchPorts) {
  const open = new Map<string, Sent>();
  const examples: { task: string; error: string }[] = [];
  let done = 0;
  let dead = 0;
  let lookedAt = Number.NEGATIVE_INFINITY;

  function settle(sent: Sent, task: StepItem | undefined): void {
    if (task?.status === 'dead') {
      if ((task.deaths ?? 0) <= sent.deaths) return; // the copy has not been met yet
      dead += 1;
      if (examples.length < MAX_EXAMPLES)
        examples.push({ task: sent.task, error: task.failure?.name ?? task.reason ?? 'unknown' });
    } else if (task === undefined || ['done', 'cancelled', 'surplus'].includes(task.status)) done += 1;
    else return;
    open.delete(sent.task);
  }

  /** Looks once a second at most; the longest open first. */
  async function look(): Promise<void> {
    if (now() < lookedAt + LOOK_MS) return;
    lookedAt = now();
    for (const sent of [...open.values()].slice(0, MAX_READS)) {
      settle(sent, await lookUp(sent.run, sent.step));
      // Those without an outcome make room for the others in the next look.
      if (open.delete(sent.task)) open.set(sent.task, sent);
    }
  }

  /** Waits until no more than so many are open, or the time is up. */
  async function waitFor(atMostOpen: number, milliseconds: number, tell: () => void): Promise<void> {
    const until = now() + milliseconds;
    while (open.size > atMostOpen) {
      await look();
      if (open.size <= atMostOpen || now() >= until) return;
      tell();
      await sleep(LOOK_MS);
    }
  }

  return {
    /** @param task as it was before its copy was sent */
    add(task: StepItem, id: string): void {
      open.set(id, { task: id, run: task.runId, step: task.stepKey, deaths: task.deaths ?? 0 });
    },
    look,
    waitFor,
    outcomes: (): Outcomes => ({ done, dead, open: open.size, examples }),
  };
}
