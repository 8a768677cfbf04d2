import fc from 'fast-check';
import { expect, test } from 'vitest';
import * as z from 'zod/mini';
import { isUnreadable, parseCommand } from '#core/read-command.ts';
import { aCommand } from '#test/examples.ts';

const text = (max: number) => z.string().check(z.minLength(1), z.maxLength(max));
const whole = z.number().check(z.int(), z.nonnegative());
/** What the checks by hand must mean, in the words of a schema. */
const specified = z.looseObject({
  specversion: z.literal('1.0'),
  id: text(400),
  source: text(200),
  type: text(120),
  time: text(40),
  subject: z.optional(text(200)),
  datacontenttype: z.literal('application/json'),
  dataschema: z.optional(text(300)),
  dataref: z.optional(text(1200)),
  correlationid: text(200),
  causationid: text(400),
  traceparent: text(80),
  tenant: text(100),
  workflow: text(40),
  runid: text(40),
  step: text(64),
  execution: whole,
  entry: whole,
  deadline: z.iso.datetime(),
  partitionkey: z.optional(text(64)),
  trylimit: z.number().check(z.int(), z.positive()),
});

/** The problem that a schema sees first; undefined: none. */
function problemBySchema(value: unknown): string | undefined {
  const parsed = z.safeParse(specified, value);
  if (parsed.success) return undefined;
  const [name] = parsed.error.issues[0]?.path ?? [];
  return `${name === undefined ? 'the envelope' : `attribute "${String(name)}"`} is missing or malformed`;
}
/** Of the checks by hand, without the rules that no schema could say. */
function problemByHand(body: string): string | undefined {
  const read = parseCommand(body);
  return isUnreadable(read) && read.problem.endsWith('is missing or malformed') ? read.problem : undefined;
}

const command = aCommand();
const names = Object.keys(specified.shape);
const limits = [40, 64, 80, 100, 120, 200, 300, 400, 1200];
const text2 = fc
  .tuple(fc.constantFrom(...limits), fc.integer({ min: -1, max: 1 }))
  .map(([limit, more]) => 'x'.repeat(limit + more));
const two = (n: number): string => String(n).padStart(2, '0');
const time = fc
  .tuple(
    fc.constantFrom('0000', '1900', '2000', '2023', '2024', '2026', '9999', '99999'),
    fc.integer({ min: 0, max: 13 }),
    fc.integer({ min: 0, max: 32 }),
    fc.constantFrom('00:00:00', '23:59:59', '24:00:00', '12:60:00', '12:00:60', '12:00'),
    fc.constantFrom('', '.0', '.', '.123', '.123456789012345678901234567890'),
    fc.constantFrom('Z', 'z', '', '+00:00', ' Z', 'Z\n'),
  )
  .map(([year, month, day, clock, part, zone]) => `${year}-${two(month)}-${two(day)}T${clock}${part}${zone}`);
const number = fc.constantFrom(-1, -0, 0, 1, 0.5, 2 ** 53 - 1, 2 ** 53, 1e300);
const value = fc.oneof(
  fc.jsonValue(),
  text2,
  time,
  number,
  fc.constantFrom('', null, '1.0', '💧'.repeat(20)),
);

test('a command is judged as by its schema, and told the same first problem', () => {
  let wrong = 0;
  let right = 0;
  const attribute = fc.constantFrom(...names, 'more', 'data');
  fc.assert(
    fc.property(fc.dictionary(attribute, value, { maxKeys: 3 }), fc.option(attribute), (changes, gone) => {
      const changed: Record<string, unknown> = { ...command, ...changes };
      if (gone !== null) delete changed[gone];
      const body = JSON.stringify(changed);
      const expected = problemBySchema(JSON.parse(body));
      if (expected === undefined) right += 1;
      else wrong += 1;
      expect(problemByHand(body)).toBe(expected);
    }),
    { numRuns: 3000 },
  );
  expect(Math.min(wrong, right)).toBeGreaterThan(300);
});

test.each(names)('an attribute "%s" that is no text and no number is told', (name) => {
  expect(problemByHand(JSON.stringify({ ...command, [name]: {} }))).toBe(
    `attribute "${name}" is missing or malformed`,
  );
});

test('a deadline is judged as by its schema', () => {
  let right = 0;
  fc.assert(
    fc.property(time, (deadline) => {
      const body = JSON.stringify({ ...command, deadline });
      const expected = problemBySchema(JSON.parse(body));
      if (expected === undefined) right += 1;
      expect(problemByHand(body)).toBe(expected);
    }),
    { numRuns: 5000 },
  );
  expect(right).toBeGreaterThan(30);
});

test('any JSON is judged as by the schema', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (any) => {
      expect(problemByHand(JSON.stringify(any))).toBe(problemBySchema(any));
    }),
  );
});
