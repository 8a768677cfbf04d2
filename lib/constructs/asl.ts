/** Reads rendered state machine definitions (Amazon States Language): their states, and which can follow which. */

export interface AslState {
  readonly Type: string;
  readonly Resource?: string;
  readonly TimeoutSeconds?: unknown;
  readonly [field: string]: unknown;
}

interface Machine {
  readonly StartAt: string;
  readonly States: Readonly<Record<string, AslState>>;
}

export interface PlacedState {
  readonly name: string;
  readonly state: AslState;
  /** Inside a Map: entered once for each item. */
  readonly inMap: boolean;
}

export interface StateGraph {
  readonly states: readonly PlacedState[];
  /** True when `to` can be entered after `from`, by one transition or more. */
  readonly canFollow: (from: string, to: string) => boolean;
}

interface Transition {
  readonly Next?: string;
}

const nested = (state: AslState): { readonly machine: Machine; readonly isMap: boolean }[] => [
  ...((state['Branches'] as Machine[] | undefined) ?? []).map((machine) => ({ machine, isMap: false })),
  ...[state['ItemProcessor'], state['Iterator']]
    .filter((machine) => machine !== undefined)
    .map((machine) => ({ machine: machine as Machine, isMap: true })),
];

const catchTargets = (state: AslState): string[] =>
  ((state['Catch'] as Transition[] | undefined) ?? []).flatMap(({ Next }) => Next ?? []);

const nextOf = (state: AslState): string[] => [
  ...[state['Next'], state['Default']].filter((name) => typeof name === 'string'),
  ...((state['Choices'] as Transition[] | undefined) ?? []).flatMap(({ Next }) => Next ?? []),
];

/**
 * The states of a definition, those within Parallel and Map included. A branch counts as entered from its Parallel
 * state; from each of its states the Parallel state's successors can follow. State names are unique in a machine.
 */
export function graphOf(definition: Machine): StateGraph {
  const states: PlacedState[] = [];
  const successors = new Map<string, readonly string[]>();

  const visit = (machine: Machine, inMap: boolean, after: readonly string[]): void => {
    for (const [name, state] of Object.entries(machine.States)) {
      states.push({ name, state, inMap });
      const own = [...nextOf(state), ...catchTargets(state)];
      const inner = nested(state);
      successors.set(name, [...own, ...after, ...inner.map(({ machine: { StartAt } }) => StartAt)]);
      for (const { machine: part, isMap } of inner) visit(part, inMap || isMap, [...own, ...after]);
    }
  };
  visit(definition, false, []);

  const canFollow = (from: string, to: string): boolean => {
    const seen = new Set<string>();
    const ahead = [...(successors.get(from) ?? [])];
    for (let name = ahead.pop(); name !== undefined; name = ahead.pop()) {
      if (name === to) return true;
      if (seen.has(name)) continue;
      seen.add(name);
      ahead.push(...(successors.get(name) ?? []));
    }
    return false;
  };
  return { states, canFollow };
}

const WAITING = /\.(?:waitForTaskToken|sync(?::2)?)$|:activity:/;

/** Does the state wait for somebody else to finish it? */
export const isWaiting = (state: AslState): boolean => WAITING.test(state.Resource ?? '');
