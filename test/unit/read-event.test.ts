import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Envelope } from '#core/envelope.ts';
import type { Outbox } from '#core/items.ts';
import { isUnreadable } from '#core/read-command.ts';
import { parseEvent } from '#core/read-event.ts';
import { eventOf } from '#core/relay.ts';
import { RUN_EVENTS, runOutbox } from '#core/run-changes.ts';
import type { Item } from '#core/store.ts';
import { aDeadStep, aDoneStep, aRun, T0 } from '#test/examples.ts';

const told = (item: object): Envelope => {
  const event = eventOf(item as Item);
  if (event === undefined) throw new Error('the example tells nothing');
  return event;
};
const run = told(aRun({ outbox: runOutbox(aRun(), RUN_EVENTS.started, {}, T0) }));
const outbox: Outbox = { ...runOutbox(aRun(), 'inventory.stock.reserved', {}, T0) };
const { data: _data, ...withoutData } = outbox;
const done = told(aDoneStep({ outbox: withoutData }));
const data = '{"type":"a.b.c","reason":"expired","error":"DeadlinePassed","more":1}';
const dead = told(aDeadStep({ outbox: { ...outbox, type: 'edow.task.failed', data } }));

const problem = (value: unknown): string => {
  const read = parseEvent(typeof value === 'string' ? value : JSON.stringify(value));
  return isUnreadable(read) ? read.problem : 'none';
};

describe('parseEvent', () => {
  test.each([
    ['of a run', run],
    ['of a task that is done', done],
    ['of a task that died', dead],
    ['with a pointer', { ...done, data: undefined, dataref: 's3://b/k#h' }],
    ['of a type that nobody here reads', { ...run, type: 'other.thing.happened', data: 7 }],
  ])('reads an event %s', (_what, event) => {
    expect(parseEvent(JSON.stringify(event))).toEqual(JSON.parse(JSON.stringify(event)));
  });

  test.each<[string, unknown, string]>([
    ['no JSON', 'x', 'the body is not JSON'],
    ['null', 'null', 'the envelope is missing or malformed'],
    ['a time that is none', { ...run, time: 'soon' }, 'attribute "time" is missing or malformed'],
    ['no tenant', { ...run, tenant: undefined }, 'attribute "tenant" is missing or malformed'],
    ['no number', { ...run, id: 'R' }, 'the id does not end in a number'],
    ['a run without data', { ...run, data: null }, 'the data do not fit the type of the event'],
    ['a failure without a reason', { ...dead, data: {} }, 'the data do not fit the type of the event'],
  ])('refuses %s', (_what, value, expected) => {
    expect(problem(value)).toBe(expected);
  });

  test('reads anything without throwing, and never repeats the content', () => {
    const names = fc.constantFrom(...Object.keys(run));
    const value = fc.oneof(fc.jsonValue(), fc.constant('SECRET'));
    fc.assert(
      fc.property(fc.dictionary(names, value), (changes) => {
        expect(problem({ ...run, ...changes })).not.toContain('SECRET');
      }),
    );
  });
});
