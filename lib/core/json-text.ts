/** JSON from strangers: read without rounding a number, changing a prototype or keeping half a character. */

export class UnsafeJson extends Error {
  /** Member that is at fault, as far as the parser knows; never the value. */
  readonly member: string;
  constructor(message: string, member: string) {
    super(message);
    this.name = 'UnsafeJson';
    this.member = member;
  }
}

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

/**
 * Parses JSON text.
 * @throws SyntaxError when it is not JSON, UnsafeJson when a number cannot be kept exactly, a text is not well-formed
 * Unicode, or a member has a forbidden name
 */
export function parseJson(text: string): unknown {
  return JSON.parse(text, function (
    this: unknown,
    member: string,
    value: unknown,
    context?: { source?: string },
  ) {
    if (FORBIDDEN.has(member) && !Array.isArray(this))
      throw new UnsafeJson(`a member may not be named "${member}"`, member);
    if (typeof value === 'number' && context?.source !== undefined) {
      if (!Number.isFinite(value) || decimal(context.source) !== decimal(String(value)))
        throw new UnsafeJson(
          'a number is too large or has too many digits to be kept exactly: send it as text',
          member,
        );
    }
    if (typeof value === 'string' && !value.isWellFormed())
      throw new UnsafeJson('a text holds half of a surrogate pair', member);
    if (!member.isWellFormed()) throw new UnsafeJson('a member name holds half of a surrogate pair', '');
    return value;
  } as (this: unknown, key: string, value: unknown) => unknown);
}

/** JSON text that every hop takes: SNS and SQS refuse U+FFFE and U+FFFF, so they travel escaped. */
export const wireText = (value: unknown): string =>
  JSON.stringify(value).replace(/[\ufffe\uffff]/g, (mark) => `\\u${mark.charCodeAt(0).toString(16)}`);
