/**
 * The expressions of a write, compiled once for each shape. The text depends on attributes, operators and kinds of
 * change only, and a worker writes the same few shapes again and again: what differs are the values. A write is walked
 * through a tree whose steps are the parts of its shape; where the walk ends, the text stands.
 */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Attribute, Change, Condition } from '#core/store.ts';
import { toAttributeValue } from './attribute-value.ts';
import { conditionExpression, placeholders, updateExpression } from './dynamo-expressions.ts';

type Changes = Readonly<Record<string, Change>>;

/** As the commands of the SDK take them; what is empty is left out, for DynamoDB refuses it. */
export interface Expressions {
  UpdateExpression?: string;
  ConditionExpression?: string;
  /** Of a write with a condition: what made it false is told. */
  ReturnValuesOnConditionCheckFailure?: 'ALL_OLD';
  ExpressionAttributeNames?: Record<string, string>;
  ExpressionAttributeValues?: Record<string, AttributeValue>;
}

interface Step {
  readonly next: Map<string | number, Step>;
  /** The part that came here last and where it led: from most steps there is one way only. */
  part: string | number | undefined;
  led: Step | undefined;
  /** What all writes of one shape have in common; in the place of each value stands the one that came first. */
  compiled: Expressions | undefined;
}

const newStep = (): Step => ({ next: new Map(), part: undefined, led: undefined, compiled: undefined });

/** Our own code writes some 30 shapes of 20 to 50 steps each. */
const MOST_STEPS = 5000;

/** @param most steps of the tree; when they are used up it is planted anew. Default 5,000, some 1.5 MB */
export function expressionShapes(most = MOST_STEPS) {
  let root = newStep();
  let steps = 0;
  let at = root;
  /** Values of the write that is walked, `count` of them; what stands behind is left from others. */
  const values: AttributeValue[] = [];
  let count = 0;

  function step(part: string | number): void {
    if (at.part !== part || at.led === undefined) {
      let next = at.next.get(part);
      if (next === undefined) {
        next = newStep();
        at.next.set(part, next);
        steps += 1;
      }
      at.part = part;
      at.led = next;
    }
    at = at.led;
  }

  function keep(value: AttributeValue): void {
    values[count] = value;
    count += 1;
  }

  /** @param none the kind of change that it is with an empty set, which is not stored */
  function keepIfAny(kind: string, none: string, value: Attribute): void {
    const attribute = toAttributeValue(value);
    step(attribute === undefined ? none : kind);
    if (attribute !== undefined) keep(attribute);
  }

  /** A set of one needs no check for doubles, which DynamoDB refuses. */
  function keepSet(parts: readonly string[]): void {
    step(parts.length === 0 ? 'nothing' : 'addToSet');
    if (parts.length > 0) keep({ SS: parts.length === 1 ? [...parts] : [...new Set(parts)] });
  }

  function walkChange(change: Change): void {
    if ('to' in change) keepIfAny('to', 'removed', change.to);
    else if ('removed' in change) step('removed');
    else if ('plus' in change) {
      step('plus');
      keep(toAttributeValue(change.plus) as AttributeValue);
    } else if ('copyOf' in change) {
      step('copyOf');
      step(change.copyOf);
    } else if ('ifMissing' in change) keepIfAny('ifMissing', 'nothing', change.ifMissing);
    else keepSet(change.addToSet);
  }

  /** Each kind is told before what follows it, and a list by its length: no two shapes take the same way. */
  function walkCondition(condition: Condition): void {
    if ('attr' in condition) {
      walkTest(condition);
      step(condition.attr);
    } else if ('all' in condition) walkList('all', condition.all);
    else walkList('any', condition.any);
  }

  function walkTest(test: Exclude<Condition, { all: unknown } | { any: unknown }>): void {
    if ('is' in test) {
      step(test.is);
      step('sameAs' in test ? 'sameAs' : 'value');
      if ('sameAs' in test) step(test.sameAs);
      else keep(toAttributeValue(test.value) as AttributeValue);
    } else if ('present' in test) step(test.present ? 'present' : 'missing');
    else if ('oneOf' in test) {
      step('oneOf');
      step(test.oneOf.length);
      for (const value of test.oneOf) keep({ S: value });
    } else {
      step('includes');
      keep({ S: test.includes });
    }
  }

  function walkList(word: 'all' | 'any', conditions: readonly Condition[]): void {
    step(word);
    step(conditions.length);
    for (const one of conditions) walkCondition(one);
  }

  /** @param changes none for a write of a whole item */
  return function expressionsOf(when: Condition, changes: Changes = {}): Expressions {
    if (steps > most) {
      root = newStep();
      steps = 0;
    }
    at = root;
    count = 0;
    for (const attr in changes) {
      step(attr);
      walkChange(changes[attr] as Change);
    }
    // No attribute can be taken for it: an attribute is followed by the kind of its change.
    step('when');
    walkCondition(when);
    at.compiled ??= compiled(when, changes);
    // A copy has room for all its members at once; an object that grows is moved again and again.
    const expressions = { ...at.compiled };
    if (expressions.ExpressionAttributeValues)
      expressions.ExpressionAttributeValues = filled(expressions.ExpressionAttributeValues, values);
    return expressions;
  };
}

function filled(
  first: Readonly<Record<string, AttributeValue>>,
  values: readonly AttributeValue[],
): Record<string, AttributeValue> {
  const copy = { ...first };
  let at = 0;
  for (const placeholder in copy) {
    copy[placeholder] = values[at] as AttributeValue;
    at += 1;
  }
  return copy;
}

function compiled(when: Condition, changes: Changes): Expressions {
  const held = placeholders();
  const update = updateExpression(changes, held);
  const condition = conditionExpression(when, held);
  return {
    ...(update && { UpdateExpression: update }),
    ...(condition && {
      ConditionExpression: condition,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
    }),
    ...(held.known.size > 0 && { ExpressionAttributeNames: held.names }),
    ...(held.count > 0 && { ExpressionAttributeValues: held.values }),
  };
}
