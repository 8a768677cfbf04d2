/** Who acts: one invocation of a function each, with a clock of its own, that may end at any await. */
import { callSignal } from '#adapters/call-signal.ts';
import { EdowError, PortUnavailable } from '#core/errors.ts';
import type { Clock, Log, LogFields } from '#core/ports.ts';
import { recordTime } from '#runtime/in-time.ts';
import type { Clockwork } from './clockwork.ts';
import type { FaultKind, Faults } from './faults.ts';
import type { Random } from './random.ts';

export type Role =
  | 'trigger'
  | 'dispatch'
  | 'worker'
  | 'collect'
  | 'relay'
  | 'close'
  | 'sweep'
  | 'operator'
  | 'client';

export interface Actor {
  readonly role: Role;
  readonly name: string;
  /** Milliseconds by which its clock is ahead of true time. */
  readonly skew: number;
  /** True time at which it is ended. */
  readonly deadline: number;
  /** Its own clock. */
  readonly clock: Clock;
  alive: boolean;
  /** Each of its calls is slow. */
  slow: boolean;
  /** Its next call to the store is denied. */
  denied: boolean;
  /** Done when it ends, however it ends. */
  readonly onEnd: (() => void)[];
}

export type Ended<T> = { readonly value: T } | { readonly error: unknown } | 'killed';

export interface CallFaults {
  /** Refused without effect. */
  readonly refused?: readonly FaultKind[];
  /** Refused without effect, for no reason that passes by itself. */
  readonly denied?: FaultKind;
  /** Slow on its way. */
  readonly slow?: FaultKind;
  /** Applied, and the answer lost; a function says after how many milliseconds the client gives up. */
  readonly lost?: FaultKind | (() => number | undefined);
  /** Given up by the client, and applied all the same: seconds later, whatever has happened since. */
  readonly delayed?: FaultKind;
  /** Milliseconds on the way; default 5 to 40. */
  readonly takes?: number;
}

export type Trace = (actor: string, text: string) => void;

export interface Actors {
  /** Starts an invocation; `ended` is called once. */
  spawn<T>(
    role: Role,
    timeoutMs: number,
    work: (actor: Actor) => Promise<T>,
    ended: (how: Ended<T>) => void,
  ): Actor;
  kill(actor: Actor): void;
  /** A call to a port: an await at which everything may go wrong. */
  call<T>(actor: Actor, what: string, apply: () => T | Promise<T>, faults?: CallFaults): Promise<T>;
  /** Log of an actor: lines go to the trace, errors to `onError`. */
  log(actor: Actor, onError?: (message: string) => void): Log;
}

/** Clocks are off by so much at most; two of them by twice that, which the grace of 15 s must cover with a call in flight. */
const MAX_SKEW_MS = 5000;
/** A slow call. A request that is on its way when its sender ends still arrives. */
const SLOW_MS = [500, 4000] as const;
export const LOST_MS = [100, 4000] as const;
/** From the client's time-out until a request that hung on its way arrives. */
const DELAYED_MS = [500, 20_000] as const;

const KILLS: Partial<Record<Role, FaultKind>> = {
  trigger: 'trigger killed',
  dispatch: 'dispatch killed',
  worker: 'worker killed',
  collect: 'collect killed',
  relay: 'relay killed',
  close: 'close killed',
  sweep: 'sweep killed',
  operator: 'operator killed',
};

export interface ActorParts {
  readonly clockwork: Clockwork;
  readonly faults: Faults;
  readonly random: Random;
  /** Undefined: nobody reads it, and no text is made. */
  readonly trace: Trace | undefined;
}

export function actorsOf({ clockwork, faults, random, trace }: ActorParts): Actors {
  let spawned = 0;
  const endings = new WeakMap<Actor, (how: 'killed') => void>();
  // Code that reads the process's clock reads that of the actor whose turn it is.
  let turn: Actor | undefined;
  Date.now = () => clockwork.now() + (turn?.skew ?? 0);
  recordTime.after = (milliseconds, action) => {
    const owner = turn;
    let isOff = false;
    const act = (): void => {
      if (isOff || !owner?.alive) return;
      turn = owner;
      clockwork.wakes();
      trace?.(owner.name, 'has no more time for a record');
      action();
    };
    clockwork.at(clockwork.now() + milliseconds, act, 'idle');
    return () => {
      isOff = true;
    };
  };
  recordTime.handedBack = () => {};

  function spawn<T>(
    role: Role,
    timeoutMs: number,
    work: (actor: Actor) => Promise<T>,
    ended: (how: Ended<T>) => void,
  ): Actor {
    spawned += 1;
    const skew = random.between(-MAX_SKEW_MS, MAX_SKEW_MS);
    const actor: Actor = {
      role,
      name: `${role}#${spawned}`,
      skew,
      deadline: clockwork.now() + timeoutMs,
      clock: { now: () => clockwork.now() + skew },
      alive: true,
      slow: false,
      denied: false,
      onEnd: [],
    };
    const end = (how: Ended<T>): void => {
      if (!actor.alive) return;
      actor.alive = false;
      for (const action of actor.onEnd) action();
      ended(how);
    };
    endings.set(actor, end);
    clockwork.at(actor.deadline, () => {
      if (actor.alive) trace?.(actor.name, 'ran out of time');
      end('killed');
    });
    turn = actor;
    clockwork.wakes();
    work(actor).then(
      (value) => end({ value }),
      (error: unknown) => end({ error }),
    );
    return actor;
  }

  function kill(actor: Actor): void {
    trace?.(actor.name, 'KILLED');
    endings.get(actor)?.('killed');
  }

  async function arrives<T>(apply: () => T | Promise<T>): Promise<T> {
    return apply();
  }

  function call<T>(
    actor: Actor,
    what: string,
    apply: () => T | Promise<T>,
    { refused = [], denied, slow: slows, lost, delayed, takes }: CallFaults = {},
  ): Promise<T> {
    const isSlow =
      faults.strikes('call slow') ||
      actor.slow ||
      (slows !== undefined && faults.strikes(slows)) ||
      (actor.role === 'dispatch' && faults.strikes('dispatch slow'));
    const slow = isSlow ? random.between(...SLOW_MS) : 0;
    const signal = callSignal();
    if (signal?.aborted) return Promise.reject(new PortUnavailable(`the time for ${what} is over`));
    return new Promise((resolve, reject) => {
      clockwork.at(clockwork.now() + (takes ?? random.between(5, 40)) + slow, () => {
        turn = actor;
        clockwork.wakes();
        if (!actor.alive || signal?.aborted) {
          // It was on its way: whether it arrives is nobody's choice.
          if (random.chance(0.5)) arrives(apply).catch(() => undefined);
          return;
        }
        const killed = KILLS[actor.role];
        if (killed && faults.strikes(killed)) {
          const applied = random.chance(0.5);
          trace?.(actor.name, `${what} ${applied ? 'took effect' : 'never left'}, then:`);
          if (applied) arrives(apply).catch(() => undefined);
          kill(actor);
          return;
        }
        if (refused.some((kind) => faults.strikes(kind))) {
          trace?.(actor.name, `${what} REFUSED`);
          reject(new PortUnavailable(`${what} was refused for now`));
          return;
        }
        if (denied && (actor.denied || faults.strikes(denied))) {
          // The connection may break before the service says no.
          actor.denied = !actor.denied && random.chance(0.5);
          trace?.(actor.name, `${what} ${actor.denied ? 'BROKE OFF' : 'DENIED'}`);
          reject(
            actor.denied
              ? new PortUnavailable(`the connection of ${what} broke`)
              : new EdowError('port_refused', `${what} was refused`),
          );
          return;
        }
        // Nobody learns of a lost answer before the client's time-out.
        const timesOut = (after = random.between(...LOST_MS)): void =>
          clockwork.at(clockwork.now() + after, () => {
            turn = actor;
            clockwork.wakes();
            if (actor.alive && !signal?.aborted)
              reject(new PortUnavailable(`the answer of ${what} was lost`));
          });
        if (delayed && faults.strikes(delayed)) {
          trace?.(actor.name, `${what} is DELAYED`);
          timesOut();
          clockwork.at(clockwork.now() + LOST_MS[1] + random.between(...DELAYED_MS), () => {
            trace?.(actor.name, `${what} arrives`);
            clockwork.wakes();
            arrives(apply).catch(() => undefined);
          });
          return;
        }
        const answer = arrives(apply);
        const lostMs = typeof lost === 'function' ? lost() : undefined;
        if (lostMs !== undefined || (typeof lost === 'string' && faults.strikes(lost))) {
          trace?.(actor.name, `${what} took effect, its answer was LOST`);
          answer.catch(() => undefined);
          timesOut(lostMs);
        } else answer.then(resolve, reject);
      });
    });
  }

  function log(actor: Actor, onError?: (message: string) => void): Log {
    const line =
      (level: string) =>
      (message: string, fields?: LogFields): void => {
        trace?.(actor.name, `${level}: ${message}${fields ? ` ${JSON.stringify(fields)}` : ''}`);
        if (level === 'error') onError?.(message);
      };
    return {
      debug: line('debug'),
      info: line('info'),
      warn: line('warn'),
      error: line('error'),
      child: () => log(actor, onError),
    };
  }

  return { spawn, kill, call, log };
}
