/**
 * Conditions and changes to DynamoDB's expressions. Names and values always travel by placeholders, so that no
 * attribute name can be a reserved word or be read as a path.
 */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Attribute, Change, Comparison, Condition } from '#core/store.ts';
import { toAttributeValue } from './attribute-value.ts';

/** The placeholders of one request; a name is asked for once, however often it occurs. */
export interface Placeholders {
  readonly names: Record<string, string>;
  readonly values: Record<string, AttributeValue>;
  /** Attribute -> its placeholder. */
  readonly known: Map<string, string>;
  /** Values so far. */
  count: number;
}

export const placeholders = (): Placeholders => ({ names: {}, values: {}, known: new Map(), count: 0 });

function nameOf(attr: string, { names, known }: Placeholders): string {
  const before = known.get(attr);
  if (before !== undefined) return before;
  const placeholder = `#n${known.size}`;
  known.set(attr, placeholder);
  names[placeholder] = attr;
  return placeholder;
}

function addValue(value: AttributeValue, held: Placeholders): string {
  const placeholder = `:v${held.count}`;
  held.count += 1;
  held.values[placeholder] = value;
  return placeholder;
}

const addConstant = (value: string | number | boolean, held: Placeholders): string =>
  addValue(toAttributeValue(value) as AttributeValue, held);

/** Every item has its key: this is how DynamoDB can be told "always" and "never". */
function constant(truth: boolean, held: Placeholders): string {
  const key = nameOf('PK', held);
  return `(attribute_exists(${key}) ${truth ? 'OR' : 'AND'} attribute_not_exists(${key}))`;
}

function joined(parts: readonly Condition[], word: 'AND' | 'OR', held: Placeholders): string {
  const [only, ...more] = parts;
  if (only === undefined) return constant(word === 'AND', held);
  if (more.length === 0) return conditionText(only, held);
  return `(${parts.map((part) => conditionText(part, held)).join(` ${word} `)})`;
}

/** Two attributes. What it means that both are missing is written out: implementations differ. */
function comparison(left: string, is: Comparison, right: string): string {
  if (is === '<>') return `(attribute_not_exists(${left}) OR ${left} <> ${right})`;
  return `(attribute_exists(${left}) AND ${left} ${is} ${right})`;
}

function conditionText(condition: Condition, held: Placeholders): string {
  if ('all' in condition) return joined(condition.all, 'AND', held);
  if ('any' in condition) return joined(condition.any, 'OR', held);
  if ('oneOf' in condition && condition.oneOf.length === 0) return constant(false, held);
  const name = nameOf(condition.attr, held);
  if ('present' in condition) return `attribute_${condition.present ? '' : 'not_'}exists(${name})`;
  if ('oneOf' in condition)
    return `${name} IN (${condition.oneOf.map((value) => addConstant(value, held)).join(', ')})`;
  if ('includes' in condition) return `contains(${name}, ${addConstant(condition.includes, held)})`;
  if ('sameAs' in condition) return comparison(name, condition.is, nameOf(condition.sameAs, held));
  return `${name} ${condition.is} ${addConstant(condition.value, held)}`;
}

/** A condition expression; undefined where the condition always holds and none need be sent. */
export const conditionExpression = (condition: Condition, held: Placeholders): string | undefined =>
  'all' in condition && condition.all.length === 0 ? undefined : conditionText(condition, held);

type Clause = 'SET' | 'REMOVE' | 'ADD';

function clauseOf(attr: string, change: Change, held: Placeholders): readonly [Clause, string] | undefined {
  const name = (): string => nameOf(attr, held);
  const storing = (value: Attribute, text: (placeholder: string) => string): readonly [Clause, string] => {
    const attribute = toAttributeValue(value);
    return attribute === undefined ? ['REMOVE', name()] : ['SET', text(addValue(attribute, held))];
  };
  if ('to' in change) return storing(change.to, (value) => `${name()} = ${value}`);
  if ('copyOf' in change) return ['SET', `${name()} = ${nameOf(change.copyOf, held)}`];
  if ('removed' in change) return ['REMOVE', name()];
  if ('plus' in change) return ['ADD', `${name()} ${addConstant(change.plus, held)}`];
  const value = toAttributeValue('ifMissing' in change ? change.ifMissing : new Set(change.addToSet));
  if (value === undefined) return undefined;
  if ('ifMissing' in change) return ['SET', `${name()} = if_not_exists(${name()}, ${addValue(value, held)})`];
  return ['ADD', `${name()} ${addValue(value, held)}`];
}

/** An update expression; undefined where nothing changes. */
export function updateExpression(
  changes: { readonly [attr: string]: Change },
  held: Placeholders,
): string | undefined {
  const clauses: Record<Clause, string[]> = { SET: [], REMOVE: [], ADD: [] };
  for (const [attr, change] of Object.entries(changes)) {
    const clause = clauseOf(attr, change, held);
    if (clause) clauses[clause[0]].push(clause[1]);
  }
  const text = Object.entries(clauses).flatMap(([word, parts]) =>
    parts.length === 0 ? [] : [`${word} ${parts.join(', ')}`],
  );
  return text.length === 0 ? undefined : text.join(' ');
}
