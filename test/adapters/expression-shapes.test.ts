import fc from 'fast-check';
import { expect, test } from 'vitest';
import { conditionExpression, placeholders, updateExpression } from '#adapters/dynamo-expressions.ts';
import { type Expressions, expressionShapes } from '#adapters/expression-shapes.ts';
import {
  addToSet,
  all,
  any,
  type Change,
  type Comparison,
  type Condition,
  copyOf,
  gone,
  ifMissing,
  plus,
  to,
  where,
} from '#core/store.ts';

type Changes = Readonly<Record<string, Change>>;

/** Without any memory of shapes. */
function compiledAnew(when: Condition, changes: Changes): Expressions {
  const held = placeholders();
  const update = updateExpression(changes, held);
  const condition = conditionExpression(when, held);
  return {
    ...(update && { UpdateExpression: update }),
    ...(condition && { ConditionExpression: condition, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }),
    ...(Object.keys(held.names).length > 0 && { ExpressionAttributeNames: held.names }),
    ...(Object.keys(held.values).length > 0 && { ExpressionAttributeValues: held.values }),
  };
}

/** Few names, the words of shapes among them, so that shapes are alike and meet again. */
const attr = fc.constantFrom('a', 'b', 'PK', 'when', 'to', 'all', 'removed', 'present', '1', 'a.b');
const constant = fc.oneof(fc.constantFrom('x', '', 'to'), fc.constantFrom(0, 1, -7), fc.boolean());
const set = fc.array(fc.constantFrom('x', 'y'), { maxLength: 2 }).map((parts) => new Set(parts));
const attribute = fc.oneof(
  constant,
  set,
  fc.array(constant, { maxLength: 2 }),
  fc.dictionary(attr, constant, { maxKeys: 2 }),
);
const change: fc.Arbitrary<Change> = fc.oneof(
  attribute.map(to),
  attribute.map(ifMissing),
  attr.map(copyOf),
  fc.constantFrom(plus(1), plus(-1), gone, addToSet(), addToSet('x'), addToSet('x', 'y', 'x')),
);
const is = fc.constantFrom<Comparison>('=', '<>', '<', '<=', '>', '>=');
const { condition } = fc.letrec<{ condition: Condition }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 3 },
    fc.record({ attr, is, value: constant }),
    fc.record({ attr, is, sameAs: attr }),
    fc.record({ attr, oneOf: fc.array(fc.constantFrom('x', 'y'), { maxLength: 3 }) }),
    fc.record({ attr, present: fc.boolean() }),
    fc.record({ attr, includes: fc.constantFrom('x', 'y') }),
    fc.array(tie('condition'), { maxLength: 3 }).map((parts) => all(...parts)),
    fc.array(tie('condition'), { maxLength: 3 }).map((parts) => any(...parts)),
  ),
}));
const changes = fc.dictionary(attr, change, { maxKeys: 4 });

test('a shape that was seen before gives what compiling it anew gives', () => {
  const expressionsOf = expressionShapes();
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(condition, changes, (when, changed) => {
      const expected = compiledAnew(when, changed);
      const shape = JSON.stringify([expected.UpdateExpression, expected.ConditionExpression]);
      seen.set(shape, (seen.get(shape) ?? 0) + 1);
      expect(expressionsOf(when, changed)).toEqual(expected);
      expect(expressionsOf(when, changed)).toEqual(expected);
      expect(expressionsOf(when)).toEqual(compiledAnew(when, {}));
    }),
    { numRuns: 3000 },
  );
  expect([...seen.values()].filter((times) => times > 1).length).toBeGreaterThan(100);
});

test('other values of a shape leave the ones handed out before alone', () => {
  const expressionsOf = expressionShapes();
  const first = expressionsOf(where('a', '=', 1), { b: to('x') });
  expressionsOf(where('a', '=', 2), { b: to('y') });
  expect(first.ExpressionAttributeValues).toEqual({ ':v0': { S: 'x' }, ':v1': { N: '1' } });
});

test('shapes without end are forgotten, and compiled anew', () => {
  const expressionsOf = expressionShapes(50);
  for (let turn = 0; turn < 3; turn += 1)
    for (let at = 0; at < 40; at += 1)
      expect(expressionsOf(all(), { [`attr${at}`]: to(at) })).toEqual(
        compiledAnew(all(), { [`attr${at}`]: to(at) }),
      );
});
