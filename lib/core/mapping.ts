/**
 * Where a task's input comes from. States carry no payloads, so a RunTask names its input by reference:
 * dispatch resolves the references from the run's input and from the results of earlier steps.
 */
import { ContractError } from './errors.ts';

/** A reference, as it is stored: `$from` is `input` or a step key, `path` the member names to follow. */
export interface Reference {
  readonly $from: string;
  readonly path: readonly string[];
}
export type Mapping =
  | Reference
  | string
  | number
  | boolean
  | null
  | readonly Mapping[]
  | { readonly [member: string]: Mapping };

/** What references are resolved against. A step without a result is absent. */
export interface Sources {
  readonly input: unknown;
  readonly results: ReadonlyMap<string, unknown>;
}

/** Refers to the run's input: `fromInput('customer', 'id')`, or all of it: `fromInput()`. */
export const fromInput = (...path: string[]): Reference => ({ $from: 'input', path });

/** Refers to the result of an earlier step: `fromStep('Reserve', 'reservationId')`. */
export const fromStep = (stepKey: string, ...path: string[]): Reference => {
  if (stepKey === 'input')
    throw new ContractError('a step cannot be named "input": references to the run input use it');
  return { $from: stepKey, path };
};

const isReference = (mapping: object): mapping is Reference => '$from' in mapping && 'path' in mapping;

/** Every reference in a mapping, for checks at synth and to know which results must be read. */
export function referencesOf(mapping: Mapping): Reference[] {
  if (mapping === null || typeof mapping !== 'object') return [];
  if (Array.isArray(mapping)) return mapping.flatMap(referencesOf);
  if (isReference(mapping)) return [mapping];
  return Object.values(mapping as { readonly [member: string]: Mapping }).flatMap(referencesOf);
}

function follow(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const member of path) {
    if (at === null || typeof at !== 'object' || !Object.hasOwn(at, member)) return undefined;
    at = (at as Record<string, unknown>)[member];
  }
  return at;
}

/** Resolves a mapping. A reference to a member that is not there leaves its own member out (null in a list). */
export function resolveMapping(mapping: Mapping, sources: Sources): unknown {
  if (mapping === null || typeof mapping !== 'object') return mapping;
  if (Array.isArray(mapping)) return mapping.map((part) => resolveMapping(part, sources) ?? null);
  if (isReference(mapping))
    return follow(
      mapping.$from === 'input' ? sources.input : sources.results.get(mapping.$from),
      mapping.path,
    );
  return Object.fromEntries(
    Object.entries(mapping as { readonly [member: string]: Mapping })
      .map(([member, part]) => [member, resolveMapping(part, sources)] as const)
      .filter(([, value]) => value !== undefined),
  );
}
