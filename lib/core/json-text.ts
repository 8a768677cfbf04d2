/** JSON from strangers: read without rounding a number, changing a prototype or keeping half a character. */
import { isDeeper, tooDeep } from './nesting.ts';

export class UnsafeJson extends Error {
  /** JSON Pointer to what is at fault; never the value. */
  readonly pointer: string;
  constructor(message: string, pointer: string) {
    super(message);
    this.name = 'UnsafeJson';
    this.pointer = pointer;
  }
}

/** One part of a JSON Pointer, bounded. */
export const escapePointer = (part: PropertyKey): string =>
  String(part).replaceAll('~', '~0').replaceAll('/', '~1').slice(0, 100);

/** Significant digits and exponent of a JSON number, so that equal values give equal text. */
function decimal(text: string): string {
  const [mantissa, exponent = '0'] = text.replace(/^-/, '').split(/e/i) as [string, string?];
  const [whole, fraction = ''] = mantissa.split('.') as [string, string?];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  if (kept === '') return '0';
  return `${text.startsWith('-') ? '-' : ''}${kept}e${Number(exponent) - fraction.length + digits.length - kept.length}`;
}

/** Members that would reach a prototype when somebody copies the object carelessly. */
const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype']);

/** Levels of lists and objects that a caller may send. */
const MAX_LEVELS = 100;

/** Why a member cannot be taken as it is; `source`: the text of a number. */
function faultOf(holder: unknown, member: string, value: unknown, source?: string): string | undefined {
  if (FORBIDDEN.has(member) && !Array.isArray(holder)) return `a member may not be named "${member}"`;
  if (typeof value === 'number' && source !== undefined)
    if (!Number.isFinite(value) || decimal(source) !== decimal(String(value)))
      return 'a number is too large or has too many digits to be kept exactly: send it as text';
  if (typeof value === 'string' && !value.isWellFormed()) return 'a text holds half of a surrogate pair';
  return member.isWellFormed() ? undefined : 'a member name holds half of a surrogate pair';
}

/** Member names from a value down to one of its objects. */
function pathTo(object: unknown, from: unknown): string[] | undefined {
  if (from === object) return [];
  if (from === null || typeof from !== 'object') return undefined;
  for (const [name, part] of Object.entries(from)) {
    const rest = pathTo(object, part);
    if (rest) return [name, ...rest];
  }
  return undefined;
}

/**
 * Parses JSON text.
 * @throws SyntaxError when it is not JSON, UnsafeJson when a number cannot be kept exactly, a text is not well-formed
 * Unicode, a member has a forbidden name, or it is nested more than 100 levels deep
 */
export function parseJson(text: string): unknown {
  if (isDeeper(text, MAX_LEVELS)) throw new UnsafeJson(tooDeep(MAX_LEVELS), '');
  let first: { readonly holder: unknown; readonly member: string; readonly fault: string } | undefined;
  const root: unknown = JSON.parse(text, function (
    this: unknown,
    member: string,
    value: unknown,
    context?: { source?: string },
  ) {
    const fault = first === undefined ? faultOf(this, member, value, context?.source) : undefined;
    if (fault !== undefined) first = { holder: this, member, fault };
    return value;
  } as (this: unknown, key: string, value: unknown) => unknown);
  if (first === undefined) return root;
  // The holder of a value that stands alone is not part of it.
  const path = pathTo(first.holder, root);
  const parts = path === undefined ? [] : [...path, first.member];
  throw new UnsafeJson(
    first.fault,
    parts
      .map((part) => `/${escapePointer(part)}`)
      .join('')
      .toWellFormed(),
  );
}

/** JSON text that every hop takes: SNS and SQS refuse U+FFFE and U+FFFF, so they travel escaped. */
export const wireText = (value: unknown): string =>
  JSON.stringify(value).replace(/[\ufffe\uffff]/g, (mark) => `\\u${mark.charCodeAt(0).toString(16)}`);
