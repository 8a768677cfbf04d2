import { describe, expect, test } from 'vitest';
import { conditionExpression, placeholders, updateExpression } from '#adapters/dynamo-expressions.ts';
import {
  absent,
  addToSet,
  all,
  any,
  type Change,
  type Condition,
  copyOf,
  gone,
  ifMissing,
  missing,
  oneOf,
  plus,
  present,
  sameAs,
  to,
  where,
} from '#core/store.ts';

function compiledCondition(condition: Condition) {
  const held = placeholders();
  const { names, values } = held;
  return { text: conditionExpression(condition, held), names, values };
}
function compiledUpdate(changes: Record<string, Change>) {
  const held = placeholders();
  const { names, values } = held;
  return { text: updateExpression(changes, held), names, values };
}

describe('conditions', () => {
  test('a claim: every attribute by one placeholder, every value by its own', () => {
    const claim = all(
      any(
        where('status', '=', 'ready'),
        all(where('status', '=', 'retrying'), where('notBefore', '<=', 5)),
        all(where('status', '=', 'claimed'), where('leaseUntil', '<', 7)),
      ),
      where('tries', '<', 3),
    );
    expect(compiledCondition(claim)).toEqual({
      text: '((#n0 = :v0 OR (#n0 = :v1 AND #n1 <= :v2) OR (#n0 = :v3 AND #n2 < :v4)) AND #n3 < :v5)',
      names: { '#n0': 'status', '#n1': 'notBefore', '#n2': 'leaseUntil', '#n3': 'tries' },
      values: {
        ':v0': { S: 'ready' },
        ':v1': { S: 'retrying' },
        ':v2': { N: '5' },
        ':v3': { S: 'claimed' },
        ':v4': { N: '7' },
        ':v5': { N: '3' },
      },
    });
  });

  test.each([
    [absent, 'attribute_not_exists(#n0)', ['PK']],
    [present('a'), 'attribute_exists(#n0)', ['a']],
    [missing('a.b'), 'attribute_not_exists(#n0)', ['a.b']],
    [oneOf('status', ['x', 'y']), '#n0 IN (:v0, :v1)', ['status']],
    [oneOf('status', []), '(attribute_exists(#n0) AND attribute_not_exists(#n0))', ['PK']],
    [any(), '(attribute_exists(#n0) AND attribute_not_exists(#n0))', ['PK']],
    [any(all()), '(attribute_exists(#n0) OR attribute_not_exists(#n0))', ['PK']],
    [all(present('a')), 'attribute_exists(#n0)', ['a']],
    [{ attr: 'met', includes: '1.0' }, 'contains(#n0, :v0)', ['met']],
    [sameAs('a', '>=', 'b'), '(attribute_exists(#n0) AND #n0 >= #n1)', ['a', 'b']],
    [sameAs('a', '<>', 'b'), '(attribute_not_exists(#n0) OR #n0 <> #n1)', ['a', 'b']],
  ] as const)('%j', (condition, text, names) => {
    const compiled = compiledCondition(condition);
    expect(compiled.text).toBe(text);
    expect(Object.values(compiled.names)).toEqual(names);
  });

  test('what always holds needs no condition', () => {
    expect(compiledCondition(all())).toEqual({ text: undefined, names: {}, values: {} });
  });
});

describe('changes', () => {
  test('each kind in its clause', () => {
    const changes = {
      status: to('claimed'),
      fence: plus(1),
      owner: gone,
      met: addToSet('1.0', '1.1'),
      firstEntered: ifMissing(9),
      outcomeExecution: copyOf('execution'),
    };
    expect(compiledUpdate(changes)).toEqual({
      text: 'SET #n0 = :v0, #n4 = if_not_exists(#n4, :v3), #n5 = #n6 REMOVE #n2 ADD #n1 :v1, #n3 :v2',
      names: {
        '#n0': 'status',
        '#n1': 'fence',
        '#n2': 'owner',
        '#n3': 'met',
        '#n4': 'firstEntered',
        '#n5': 'outcomeExecution',
        '#n6': 'execution',
      },
      values: {
        ':v0': { S: 'claimed' },
        ':v1': { N: '1' },
        ':v2': { SS: ['1.0', '1.1'] },
        ':v3': { N: '9' },
      },
    });
  });

  test('an empty set is removed where it is written, and left out where it is added', () => {
    const none = new Set<string>();
    expect(compiledUpdate({ a: to(none), b: ifMissing(none), c: addToSet() })).toEqual({
      text: 'REMOVE #n0',
      names: { '#n0': 'a' },
      values: {},
    });
  });

  test('no change is no expression', () => {
    expect(compiledUpdate({})).toEqual({ text: undefined, names: {}, values: {} });
  });
});
