/** What is kept of an error: class, name, bounded and redacted message, fingerprint. */
import { hash } from 'node:crypto';
import { EdowError, PermanentError, RetryAfterError, TaskError, UnknownOutcomeError } from './errors.ts';
import type { ErrorClass, Failure } from './items.ts';

const MAX_MESSAGE = 400;
const MAX_NAME = 80;

/** What must not be kept: addresses, long numbers (cards, accounts), passwords, tokens, keys, signatures. */
const SECRETS: readonly [RegExp, string][] = [
  [/\/\/[^\s/@:]{1,100}:[^\s/@]{1,200}@/g, '//<credential>@'],
  [
    /\b(pass(?:word|wd|phrase)?|secret|token|api[_-]?key|(?:x-amz-)?signature)["']?\s{0,3}[=:]\s{0,3}["']?[^\s"'&,;]+/gi,
    '$1=<credential>',
  ],
  [/\b[sr]k_(?:live|test)_\w+/g, '<credential>'],
  [/[\w.+-]+@[\w-]+\.[\w.]+/g, '<address>'],
  [/\b(?:bearer|basic)\s+[\w+/=.~-]+/gi, '<credential>'],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, '<credential>'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, '<credential>'],
  [/\b\d(?:[ -]?\d){11,}\b/g, '<number>'],
];

/** Control characters, other line ends, and the two code points that queues and topics refuse. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufffe\uffff]+/g;

/** Bounded, one line of well-formed text, and without what looks like an address, an account or a credential. */
export function redact(text: string, max = MAX_MESSAGE): string {
  // Cut first: patterns then run over a bounded text. One line next: a number over two lines is still a number.
  let kept = text
    .slice(0, max * 4)
    .toWellFormed()
    .replace(UNPRINTABLE, ' ');
  for (const [pattern, mark] of SECRETS) kept = kept.replace(pattern, mark);
  kept = kept.trim();
  return kept.length > max ? `${kept.slice(0, max - 1).toWellFormed()}…` : kept;
}

/** Groups failures of one cause: class, name and the message without quoted parts, numbers and ids. */
export function fingerprint(errorClass: ErrorClass, name: string, message: string): string {
  const shape = message
    .replace(/"[^"]*"|'[^']*'/g, '"…"')
    .replace(/\b[0-9a-f-]{8,}\b|\b[0-9A-HJKMNP-TV-Z]{26}\b/gi, '#')
    .replace(/\d+/g, '#');
  return hash('sha256', `${errorClass}\n${name}\n${shape}`).slice(0, 12);
}

/** A failed try, as core goes on with it. */
export interface TriedAndFailed {
  readonly failure: Failure;
  /** The try certainly had no effect. */
  readonly noEffect: boolean;
  /** Seconds that the downstream asked to wait; only for class `throttled`. */
  readonly retryAfterSeconds: number;
}

function classOf(error: unknown): ErrorClass {
  if (error instanceof PermanentError) return 'permanent';
  if (error instanceof RetryAfterError) return 'throttled';
  if (error instanceof UnknownOutcomeError) return 'unknown-outcome';
  if (error instanceof EdowError && (error.code === 'payload_gone' || error.code === 'contract'))
    return 'permanent';
  return 'retryable';
}

/** Judges whatever was thrown. Anything that we do not know is retryable, and so is what cannot even be looked at. */
export function judge(error: unknown): TriedAndFailed {
  try {
    return judged(error);
  } catch {
    return judged(new Error('what was thrown cannot be read: a name or message that throws, or is no text'));
  }
}

function judged(error: unknown): TriedAndFailed {
  // `String`: a name or message that is no text must not hide the failure behind one of ours.
  const errorClass = classOf(error);
  const name = redact(error instanceof Error ? String(error.name) : 'NotAnError', MAX_NAME) || 'Error';
  const message = redact(error instanceof Error ? String(error.message) : `a ${typeof error} was thrown`);
  return {
    failure: {
      class: errorClass,
      name,
      message,
      fingerprint: fingerprint(errorClass, name, message),
      ...(error instanceof PermanentError && error.refused ? { refused: true } : {}),
    },
    noEffect: error instanceof TaskError && error.noEffect,
    retryAfterSeconds: error instanceof RetryAfterError ? error.seconds : 0,
  };
}
