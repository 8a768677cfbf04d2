/** Kinds of fault, how often each may strike, and whether it strikes here and now. */
import { type Random, randomOf } from './random.ts';

interface Odds {
  /** Part of the schedules that draw it: less where it makes them several times as long. Default: that of all kinds. */
  readonly share?: number;
  /** Chance at each occasion while the kind is active. */
  readonly rate: number;
  /** Strikes in one schedule at most. */
  readonly most: number;
}

/** A kind names the port or the part that fails, then how. */
export const FAULTS = {
  'trigger killed': { rate: 0.2, most: 2 },
  'dispatch killed': { rate: 0.1, most: 3 },
  'worker killed': { rate: 0.08, most: 6 },
  'collect killed': { rate: 0.1, most: 3 },
  'relay killed': { rate: 0.1, most: 3 },
  'close killed': { rate: 0.15, most: 3 },
  'sweep killed': { rate: 0.1, most: 3 },
  'operator killed': { rate: 0.3, most: 2 },
  'store throttled': { rate: 0.05, most: 8 },
  'store answer lost': { rate: 0.08, most: 6 },
  'call slow': { rate: 0.05, most: 6 },
  'dispatch slow': { rate: 0.4, most: 8 },
  'commands not taken': { rate: 0.2, most: 2 },
  'commands answer lost': { rate: 0.2, most: 2 },
  'command overtaken by its retry': { rate: 0.3, most: 3 },
  'events not taken': { rate: 0.1, most: 3 },
  'token answer throttled': { rate: 0.2, most: 3 },
  'token answer lost': { rate: 0.2, most: 3 },
  'start throttled': { rate: 0.3, most: 2 },
  'start answer lost': { rate: 0.3, most: 2 },
  'describe throttled': { rate: 0.2, most: 2 },
  'payloads unavailable': { rate: 0.2, most: 2 },
  'message doubled': { rate: 0.25, most: 5 },
  'message late': { rate: 0.2, most: 4 },
  'message hidden': { rate: 0.15, most: 3 },
  'message dropped by a filter': { rate: 0.3, most: 8 },
  'message damaged': { rate: 0.2, most: 2 },
  'message handed out twice': { rate: 0.15, most: 4 },
  'receive burnt': { rate: 0.2, most: 6 },
  'receives all burnt': { rate: 0.05, most: 1 },
  'delete lost': { rate: 0.15, most: 4 },
  'visibility not changed': { rate: 0.15, most: 4 },
  'strange message': { rate: 0.5, most: 2 },
  'stream record doubled': { rate: 0.1, most: 4 },
  'stream late': { rate: 0.1, most: 3 },
  'stream record lost': { rate: 0.08, most: 2 },
  'retry queue down': { rate: 0.5, most: 2 },
  'end event lost': { rate: 0.4, most: 3 },
  'end event doubled': { rate: 0.3, most: 3 },
  'end event late': { rate: 0.3, most: 3 },
  'dispatch call failed': { rate: 0.15, most: 4 },
  'dispatch still running': { rate: 0.15, most: 2 },
  'pool paused': { rate: 1, most: 1 },
  'pool has a backlog': { rate: 1, most: 1 },
  'execution stopped by hand': { rate: 0.2, most: 1 },
  'execution timed out': { rate: 0.2, most: 1 },
  'execution times out without end': { rate: 0.9, most: 7, share: 0.12 },
  'execution of nobody': { rate: 1, most: 1 },
  'workflow not deployed': { rate: 1, most: 1 },
  'definition changed': { rate: 1, most: 1 },
  'client repeats': { rate: 0.5, most: 3 },
  'client sends other request': { rate: 0.5, most: 2 },
  'replay before the fix': { rate: 0.4, most: 3 },
  'resume by hand': { rate: 0.3, most: 2 },
  'two persons resume': { rate: 0.5, most: 3 },
  'redrive of the execution': { rate: 0.5, most: 2 },
  'redrive at once': { rate: 0.5, most: 2 },
  'redrive of an older execution': { rate: 0.5, most: 2 },
  'transaction conflict': { rate: 0.3, most: 4 },
  'condition refused': { rate: 0.2, most: 2 },
  'task retryable': { rate: 0.3, most: 8 },
  'task permanent': { rate: 0.15, most: 2 },
  'task refused': { rate: 0.3, most: 1 },
  'task throttled': { rate: 0.3, most: 8 },
  'task throttled without end': { rate: 0.97, most: 24 },
  'task hangs': { rate: 0.15, most: 3 },
  'task slow': { rate: 0.2, most: 4 },
  'task answers wrongly': { rate: 0.15, most: 2 },
  'task poisoned until fixed': { rate: 0.3, most: 2 },
  'store write delayed': { rate: 0.1, most: 6 },
  'access denied': { rate: 0.05, most: 6 },
  'ordering key not mapped': { rate: 1, most: 1 },
  'sweep cut short': { rate: 0.3, most: 3 },
  'index behind': { rate: 0.5, most: 6 },
  'message comes with the sweep': { rate: 0.5, most: 6 },
  'run refused under way': { rate: 0.8, most: 2 },
  'retry overtaken by a copy': { rate: 0.6, most: 4 },
  'transaction slow': { rate: 0.3, most: 4 },
  'transaction answer lost': { rate: 0.3, most: 4 },
  'line in conflict': { rate: 0.2, most: 4 },
  'dispatch starts late': { rate: 0.3, most: 4 },
  'projector behind': { rate: 1, most: 1 },
  'letter edited': { rate: 0.5, most: 2 },
} as const satisfies Record<string, Odds>;

export type FaultKind = keyof typeof FAULTS;
export const FAULT_KINDS = Object.keys(FAULTS) as FaultKind[];

/** Part of the kinds that one schedule draws. */
const ACTIVE = 0.22;
/** Kinds of a schedule at least. */
const LEAST_KINDS = 15;

export interface Faults {
  /** Whether the fault happens at this occasion. */
  strikes(kind: FaultKind): boolean;
  /** No fault strikes any more. */
  calm(): void;
  /** Strikes by kind so far. */
  counts(): ReadonlyMap<FaultKind, number>;
}

/** Kinds of this seed. Their order does not matter. */
function drawn(random: Random): FaultKind[] {
  const kinds = FAULT_KINDS.filter((kind) => random.chance((FAULTS[kind] as Odds).share ?? ACTIVE));
  while (kinds.length < LEAST_KINDS) kinds.push(random.pick(FAULT_KINDS));
  return kinds;
}

/**
 * @param without kinds that are left out, to make a trace shorter
 * @param onStrike told of every strike
 */
export function faultsOf(
  seed: number,
  without: ReadonlySet<string>,
  onStrike: (kind: FaultKind) => void,
): Faults {
  const states = new Map(
    drawn(randomOf(seed, 'faults')).map((kind) => {
      const random = randomOf(seed, kind);
      // The first strike comes early, so that a drawn kind seldom stays without any.
      return [kind, { random, occasions: 0, first: 1 + Math.floor(random.next() ** 2 * 10), strikes: 0 }];
    }),
  );
  let calm = false;
  return {
    strikes(kind) {
      const state = states.get(kind);
      if (state === undefined || calm || without.has(kind)) return false;
      state.occasions += 1;
      if (state.strikes >= FAULTS[kind].most) return false;
      const due = state.strikes === 0 && state.occasions === state.first;
      if (!due && !state.random.chance(FAULTS[kind].rate)) return false;
      state.strikes += 1;
      onStrike(kind);
      return true;
    },
    calm() {
      calm = true;
    },
    counts: () =>
      new Map(
        [...states].filter(([, { strikes }]) => strikes > 0).map(([kind, { strikes }]) => [kind, strikes]),
      ),
  };
}
