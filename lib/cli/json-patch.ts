/** Small changes of JSON values by JSON Pointer, and what differs between two values. */
import { escapePointer, parseJson } from '#core/json-text.ts';
import { CliError, EXIT } from './errors.ts';

export interface SetValue {
  readonly pointer: string;
  readonly value: unknown;
}

const RIGHT = 'Right: --set /lines/0/quantity=2   or   --set \'/customer={"id":"c-1"}\'';

/** `/pointer=value`: JSON; what is none is taken as text. @throws CliError `usage` */
export function parseSet(given: string): SetValue {
  const [, pointer, text = ''] = /^(\/[^=]*)=([\s\S]*)$/.exec(given) ?? [];
  if (pointer === undefined)
    throw new CliError('usage', '--set takes a JSON Pointer and a value', RIGHT, { exitCode: EXIT.usage });
  try {
    return { pointer, value: parseJson(text) };
  } catch (error) {
    if (error instanceof SyntaxError) return { pointer, value: text };
    throw new CliError('usage', `the value of --set ${pointer} cannot be kept as it is`, RIGHT, {
      cause: error,
      exitCode: EXIT.usage,
    });
  }
}

const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype']);
const partsOf = (pointer: string): string[] =>
  pointer
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));

/**
 * The value with one place changed: a member (made where there is none), a list's entry, or `-` for a new last one.
 * @returns undefined: there is no such place
 */
export function withValue(value: unknown, pointer: string, to: unknown): unknown {
  const parts = partsOf(pointer);
  if (parts.some((part) => FORBIDDEN.has(part))) return undefined;
  return changed(value, parts, to);
}

function changed(value: unknown, [first, ...rest]: readonly string[], to: unknown): unknown {
  if (first === undefined) return to;
  if (value === null || typeof value !== 'object') return undefined;
  if (Array.isArray(value)) {
    const at = first === '-' ? value.length : /^(0|[1-9]\d*)$/.test(first) ? Number(first) : -1;
    if (at < 0 || at > value.length || (at === value.length && (first !== '-' || rest.length > 0)))
      return undefined;
    const entry = changed(value[at], rest, to);
    return entry === undefined ? undefined : [...value.slice(0, at), entry, ...value.slice(at + 1)];
  }
  if (!Object.hasOwn(value, first) && rest.length > 0) return undefined;
  const member = changed((value as Record<string, unknown>)[first], rest, to);
  return member === undefined ? undefined : { ...value, [first]: member };
}

/** One place that differs; a side that has nothing there is absent. JSON text. */
export interface Difference {
  readonly pointer: string;
  readonly before?: string;
  readonly after?: string;
}

/** The deepest places at which two JSON values differ, in order. */
export function differences(before: unknown, after: unknown, pointer = ''): Difference[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (!isBranch(before) || !isBranch(after) || Array.isArray(before) !== Array.isArray(after))
    return [
      {
        pointer,
        ...(before !== undefined && { before: JSON.stringify(before) }),
        ...(after !== undefined && { after: JSON.stringify(after) }),
      },
    ];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name) =>
    differences(own(before, name), own(after, name), `${pointer}/${escapePointer(name)}`),
  );
}

const isBranch = (value: unknown): value is object => typeof value === 'object' && value !== null;
const own = (value: object, name: string): unknown =>
  Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
