import { CloudEvent, HTTP } from 'cloudevents';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Command, commandOf, type Envelope, sourceOf } from '#core/envelope.ts';
import { isUnreadable, parseCommand } from '#core/read-command.ts';
import { eventOf } from '#core/relay.ts';
import { RUN_EVENTS, runOutbox } from '#core/run-changes.ts';
import type { Item } from '#core/store.ts';
import { aCommand, aDeadStep, aDoneStep, aRun, aStep, RUN_ID, SECOND_EXECUTION, T0 } from '#test/examples.ts';

const outboxOfStep = {
  type: 'inventory.stock.reserved',
  time: new Date(T0).toISOString(),
  source: sourceOf('order'),
  dataschema: 'urn:edow:schema:inventory.stock.reserved:2',
  tenant: 'acme',
  correlationid: 'corr-1',
  traceparent: aRun().traceparent,
};
const told = (item: object): Envelope => {
  const event = eventOf(item as Item);
  if (event === undefined) throw new Error('the item tells nothing');
  return event;
};
const parts = {
  taskId: `${RUN_ID}/Reserve/0`,
  workflow: 'order',
  runId: RUN_ID,
  stepKey: 'Reserve',
  contract: { type: 'inventory.stock.reserve', version: 2, tries: 3 },
  tenant: 'acme',
  correlationId: 'corr-1',
  traceparent: aRun().traceparent,
  execution: SECOND_EXECUTION,
  entry: 1,
  enteredAt: T0,
  deadline: T0 + 600_000,
};

test('a command carries the task, its round, its limits and what it belongs to', () => {
  expect(commandOf({ ...parts, data: { orderId: 'o-1' } })).toEqual({
    specversion: '1.0',
    id: `${RUN_ID}/Reserve/0`,
    source: 'urn:edow:workflow:order',
    type: 'inventory.stock.reserve',
    time: '2026-11-01T12:00:00.000Z',
    subject: RUN_ID,
    datacontenttype: 'application/json',
    dataschema: 'urn:edow:schema:inventory.stock.reserve:2',
    data: { orderId: 'o-1' },
    correlationid: 'corr-1',
    causationid: RUN_ID,
    traceparent: aRun().traceparent,
    tenant: 'acme',
    workflow: 'order',
    runid: RUN_ID,
    step: 'Reserve',
    execution: SECOND_EXECUTION,
    entry: 1,
    deadline: '2026-11-01T12:10:00.000Z',
    trylimit: 3,
  });
});

test('large data travel as a pointer instead', () => {
  const command = commandOf({ ...parts, dataref: 's3://b/k#h' });
  expect(command.dataref).toBe('s3://b/k#h');
  expect(command).not.toHaveProperty('data');
});

const published: [string, Envelope][] = [
  ['a command', commandOf({ ...parts, data: { orderId: 'o-1', lines: [1, null, 'é😀'] } })],
  ['a command whose data is null', commandOf({ ...parts, data: null })],
  ['a command with a pointer', commandOf({ ...parts, dataref: 's3://b/k#h' })],
  ["a task's event", told(aDoneStep({ outbox: outboxOfStep }))],
  ["a task's event with a pointer", told({ ...aStep({ outbox: outboxOfStep }), resultRef: 's3://b/k#h' })],
  [
    "a dead task's event",
    told(aDeadStep({ outbox: { ...outboxOfStep, type: 'edow.task.failed', data: '{"reason":"expired"}' } })),
  ],
  ...Object.values(RUN_EVENTS).map((type): [string, Envelope] => [
    type,
    told(aRun({ outbox: runOutbox(aRun(), type, {}, T0) })),
  ]),
];

describe.each(published)('%s is a CloudEvent 1.0', (_what, envelope) => {
  test('by the strict rules of the official SDK', () => {
    const event = new CloudEvent({ ...envelope } as Partial<CloudEvent<unknown>>, true);
    expect(event.validate()).toBe(true);
    expect(event).toMatchObject({ id: envelope.id, source: envelope.source, type: envelope.type });
  });

  test('as a structured message, with every attribute as it was sent', () => {
    const message = {
      headers: { 'content-type': 'application/cloudevents+json' },
      body: JSON.stringify(envelope),
    };
    const event = HTTP.toEvent<unknown>(message);
    if (Array.isArray(event)) throw new Error('one message is one event');
    const { time, ...rest } = envelope;
    expect(JSON.parse(JSON.stringify(event))).toEqual({
      ...JSON.parse(JSON.stringify(rest)),
      // The SDK does not tell null data from none.
      data: envelope.data ?? undefined,
      time: expect.any(String),
    });
    expect(new Date(event.time ?? 0).toISOString()).toBe(time);
  });

  test('with names of lower-case letters and digits, as the specification demands', () => {
    const names = Object.keys(envelope);
    expect(names.length).toBeGreaterThan(10);
    for (const name of names) expect(name).toMatch(/^[a-z0-9]{1,20}$/);
  });
});

describe('parseCommand', () => {
  const command = aCommand();
  const problem = (value: unknown): string => {
    const parsed = parseCommand(typeof value === 'string' ? value : JSON.stringify(value));
    return isUnreadable(parsed) ? parsed.problem : 'none';
  };
  const without = (name: keyof Command): object =>
    Object.fromEntries(Object.entries(command).filter(([key]) => key !== name));

  test('reads what commandOf made', () => {
    expect(parseCommand(JSON.stringify(command))).toEqual(command);
    const pointer = commandOf({ ...parts, dataref: 's3://b/k#h' });
    expect(parseCommand(JSON.stringify(pointer))).toEqual(pointer);
  });

  test('lets extensions pass that it does not know: newer senders, older readers', () => {
    expect(parseCommand(JSON.stringify({ ...command, sampled: 'yes' }))).toEqual({
      ...command,
      sampled: 'yes',
    });
  });

  test('an extension cannot make a command look unreadable', () => {
    const extended = { ...command, problem: 'SECRET', harmless: true };
    expect(isUnreadable(parseCommand(JSON.stringify(extended)))).toBe(false);
  });

  test('data may be null: only its absence is a fault', () => {
    expect(problem({ ...command, data: null })).toBe('none');
  });

  test.each<[string, unknown, string]>([
    ['no JSON', '{', 'the body is not JSON'],
    ['no object', '"text"', 'the envelope is missing or malformed'],
    ['null', 'null', 'the envelope is missing or malformed'],
    ['a list', '[]', 'the envelope is missing or malformed'],
    [
      'another version',
      { ...command, specversion: '0.3' },
      'attribute "specversion" is missing or malformed',
    ],
    ['an empty tenant', { ...command, tenant: '' }, 'attribute "tenant" is missing or malformed'],
    ['a fraction', { ...command, execution: 1.5 }, 'attribute "execution" is missing or malformed'],
    ['a negative entry', { ...command, entry: -1 }, 'attribute "entry" is missing or malformed'],
    ['no try', { ...command, trylimit: 0 }, 'attribute "trylimit" is missing or malformed'],
    [
      'a deadline that is no time',
      { ...command, deadline: 'soon' },
      'attribute "deadline" is missing or malformed',
    ],
    [
      'another content',
      { ...command, datacontenttype: 'text/xml' },
      'attribute "datacontenttype" is missing or malformed',
    ],
    ['the id of another step', { ...command, step: 'Ship' }, 'the id is not that of the run and step'],
    ['the id of another run', { ...command, runid: 'R' }, 'the id is not that of the run and step'],
    [
      'another source',
      { ...command, source: 'urn:elsewhere:workflow:order' },
      'the source is not that of the workflow',
    ],
    ['neither data nor pointer', without('data'), 'exactly one of "data" and "dataref" must be there'],
    [
      'data and pointer',
      { ...command, dataref: 's3://b/k#h' },
      'exactly one of "data" and "dataref" must be there',
    ],
    [
      'data as bytes beside data as JSON',
      { ...command, data_base64: 'e30=' },
      'data as "data_base64" is not taken: send JSON as "data"',
    ],
  ])('refuses %s', (_what, value, expected) => {
    expect(problem(value)).toBe(expected);
  });

  test('knows the test notification of S3 as noise, and nothing else', () => {
    const noise = { Service: 'Amazon S3', Event: 's3:TestEvent', Bucket: 'b' };
    expect(parseCommand(JSON.stringify(noise))).toEqual({
      problem: 'a test notification of S3',
      harmless: true,
    });
    for (const other of [{ ...noise, Event: 's3:ObjectCreated:Put' }, { Event: 's3:TestEvent' }, null, 1])
      expect(parseCommand(JSON.stringify(other))).toMatchObject({ harmless: false });
  });

  const required = Object.keys(command).filter((name) => !['subject', 'dataschema', 'data'].includes(name));
  test.each(required)('refuses a command without %s', (name) => {
    expect(problem(without(name as keyof Command))).toBe(`attribute "${name}" is missing or malformed`);
  });

  test('reads anything without throwing, and never repeats the content', () => {
    const names = fc.constantFrom(...Object.keys(command));
    const value = fc.oneof(
      fc.jsonValue(),
      fc.string({ minLength: 5, maxLength: 20 }).map((text) => `SECRET${text}`),
    );
    let refused = 0;
    fc.assert(
      fc.property(fc.dictionary(names, value), (changes) => {
        const parsed = parseCommand(JSON.stringify({ ...command, ...changes }));
        if (!isUnreadable(parsed)) return;
        refused += 1;
        expect(parsed.problem).not.toContain('SECRET');
      }),
    );
    expect(refused).toBeGreaterThan(30);
    fc.assert(
      fc.property(fc.string(), (body) => {
        expect(isUnreadable(parseCommand(body))).toBe(true);
      }),
    );
  });
});
