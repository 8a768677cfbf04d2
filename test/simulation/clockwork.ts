/** Virtual time. Whatever happens is an action at a time; between two actions every promise that can go on has gone on. */

export interface Clockwork {
  /** True time, epoch milliseconds. */
  now(): number;
  /** Does `action` at `time`, or at once where that is past. An `idle` action does not keep the world awake. */
  at(time: number, action: () => void, idle?: 'idle'): void;
  /** Does the next action. Where it let promises go on, the caller waits for what comes back, which settles after them. */
  step(): Promise<void> | undefined;
  /** The action of this step lets promises go on: wait for them. */
  wakes(): void;
  /** Actions left that are not idle. */
  awake(): number;
  /** Actions done so far. */
  done(): number;
}

interface Entry {
  readonly time: number;
  readonly order: number;
  readonly idle: boolean;
  readonly action: () => void;
}

const before = (left: Entry, right: Entry): boolean =>
  left.time < right.time || (left.time === right.time && left.order < right.order);

/** A heap of entries, the earliest first. */
function heap() {
  const entries: Entry[] = [];
  const at = (index: number): Entry => entries[index] as Entry;
  const swap = (left: number, right: number): void => {
    const held = at(left);
    entries[left] = at(right);
    entries[right] = held;
  };
  return {
    push(entry: Entry): void {
      entries.push(entry);
      let child = entries.length - 1;
      for (
        let parent = (child - 1) >> 1;
        child > 0 && before(at(child), at(parent));
        parent = (child - 1) >> 1
      ) {
        swap(child, parent);
        child = parent;
      }
    },
    pop(): Entry | undefined {
      const first = entries[0];
      const last = entries.pop();
      if (entries.length === 0 || last === undefined) return first;
      entries[0] = last;
      for (let parent = 0; ; ) {
        const left = 2 * parent + 1;
        if (left >= entries.length) break;
        const child = left + 1 < entries.length && before(at(left + 1), at(left)) ? left + 1 : left;
        if (!before(at(child), at(parent))) break;
        swap(child, parent);
        parent = child;
      }
      return first;
    },
  };
}

export function clockwork(start: number): Clockwork {
  const pending = heap();
  let now = start;
  let order = 0;
  let awake = 0;
  let done = 0;
  let woken = false;
  return {
    now: () => now,
    at(time, action, idle) {
      order += 1;
      if (!idle) awake += 1;
      pending.push({ time: Math.max(now, Math.round(time)), order, idle: idle !== undefined, action });
    },
    step() {
      const entry = pending.pop();
      if (entry === undefined) return undefined;
      if (!entry.idle) awake -= 1;
      done += 1;
      now = entry.time;
      entry.action();
      if (!woken) return undefined;
      woken = false;
      // The queue of ticks comes after all microtasks: a third of what a turn of the event loop costs.
      return new Promise(process.nextTick);
    },
    wakes() {
      woken = true;
    },
    awake: () => awake,
    done: () => done,
  };
}
