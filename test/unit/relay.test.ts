import { describe, expect, test } from 'vitest';
import type { Envelope } from '#core/envelope.ts';
import type { Outbox } from '#core/items.ts';
import { eventOf, relayer, tellsSomething } from '#core/relay.ts';
import { endRunOf } from '#core/run-changes.ts';
import type { Item } from '#core/store.ts';
import { applied } from '#core/store-rules.ts';
import { aDeadStep, aDoneStep, aRun, aStep, RUN_ID, T0 } from '#test/examples.ts';
import { memoryTopic } from '#test/memory/topic.ts';

const outbox: Outbox = {
  type: 'inventory.stock.reserved',
  time: '2026-11-01T12:00:01.000Z',
  source: 'urn:edow:workflow:order',
  dataschema: 'urn:edow:schema:inventory.stock.reserved:2',
  tenant: 'acme',
  correlationid: 'corr-1',
  traceparent: aRun().traceparent,
};
const asItem = (item: object): Item => item as Item;
const done = asItem(aDoneStep({ outbox, seq: 3 }));

describe('eventOf', () => {
  test("a task's event: its result is the data, its id is the task and the number of the change", () => {
    expect(eventOf(done)).toEqual({
      specversion: '1.0',
      id: `${RUN_ID}/Reserve/0:3`,
      source: outbox.source,
      type: outbox.type,
      time: outbox.time,
      subject: RUN_ID,
      datacontenttype: 'application/json',
      dataschema: outbox.dataschema,
      data: { reservationId: 'r-1', customer: 'Ada' },
      correlationid: 'corr-1',
      causationid: `${RUN_ID}/Reserve/0`,
      traceparent: outbox.traceparent,
      tenant: 'acme',
    });
  });

  test('a large result is told by its pointer', () => {
    const { result: _, ...large } = aDoneStep({ outbox, resultRef: 's3://b/k#h' });
    const event = eventOf(asItem(large));
    expect(event?.dataref).toBe('s3://b/k#h');
    expect(event).not.toHaveProperty('data');
  });

  test('an outbox with its own data tells those, whatever result lies beside it', () => {
    const dead = aDeadStep({ outbox: { ...outbox, data: '{"reason":"expired"}' }, resultRef: 's3://b/k#h' });
    expect(eventOf(asItem(dead))?.data).toEqual({ reason: 'expired' });
  });

  test('no data are null data', () => {
    expect(eventOf(asItem(aStep({ outbox })))?.data).toBeNull();
    expect(eventOf(asItem(aRun({ outbox })))?.data).toBeNull();
  });

  test("a run's event: its id is the run and the number of the change", () => {
    const run = aRun({ seq: 4 });
    const ended = applied(endRunOf(run, { status: 'succeeded', output: '{}' }, T0), asItem(run));
    expect(eventOf(ended)).toMatchObject({
      id: `${RUN_ID}:5`,
      type: 'edow.run.succeeded',
      subject: RUN_ID,
      causationid: RUN_ID,
      data: { runId: RUN_ID, status: 'succeeded', execution: 1, workflow: 'order' },
    });
  });

  test('an item without an outbox tells nothing', () => {
    expect(eventOf(asItem(aStep()))).toBeUndefined();
  });
});

describe('tellsSomething', () => {
  test.each<[string, Item | undefined, Item, boolean]>([
    ['a new item with an outbox', undefined, done, true],
    ['a new item without', undefined, asItem(aStep()), false],
    ['the number moved on', asItem(aStep({ outbox, seq: 2 })), done, true],
    [
      'the number stayed: a mark, or a look of the sweeper',
      asItem({ ...done, unaccepted: true }),
      done,
      false,
    ],
  ])('%s', (_what, before, after, expected) => {
    expect(tellsSomething(before, after)).toBe(expected);
  });
});

describe('relayer', () => {
  const other = asItem(aRun({ outbox: { ...outbox, type: 'edow.run.started', data: '{}' } }));

  test('publishes the events of many changes, and nothing for those that tell nothing', async () => {
    const topic = memoryTopic<Envelope>();
    const left = await relayer(topic).relay([
      { before: undefined, after: done },
      { before: done, after: asItem({ ...done, unaccepted: true }) },
      { before: undefined, after: other },
    ]);
    expect(left).toEqual([]);
    expect(topic.taken.map(({ id }) => id)).toEqual([`${RUN_ID}/Reserve/0:3`, `${RUN_ID}:1`]);
  });

  test('gives back the changes whose event was not taken', async () => {
    const topic = memoryTopic<Envelope>();
    topic.refuse(`${RUN_ID}:1`);
    const kept = { before: undefined, after: done, record: 1 };
    const lost = { before: undefined, after: other, record: 2 };
    expect(await relayer(topic).relay([kept, lost])).toEqual([lost]);
    expect(topic.taken).toHaveLength(1);
  });

  test("an item's later event is not published before an earlier one that was not taken", async () => {
    const at = (seq: number) => ({ before: undefined, after: asItem({ ...aDoneStep({ outbox }), seq }) });
    const [first, second, third] = [at(1), at(2), at(3)];
    const topic = memoryTopic<Envelope>();
    topic.refuse(`${RUN_ID}/Reserve/0:2`);
    const run = { before: undefined, after: other };
    expect(await relayer(topic).relay([first, second, run, third])).toEqual([second, third]);
    expect(topic.taken.map(({ id }) => id)).toEqual([`${RUN_ID}/Reserve/0:1`, `${RUN_ID}:1`]);
  });

  test('asks the topic for nothing when there is nothing to tell', async () => {
    const topic = { publish: () => Promise.reject(new Error('asked')) };
    expect(await relayer(topic).relay([{ before: done, after: done }])).toEqual([]);
  });
});
