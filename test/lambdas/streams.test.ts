/**
 * Field case of the table's stream: H28 at relay and collect, and the rows of H16. Its queues and mappings are in
 * test/infra, kills and doubled records in the fault simulation.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import type { Envelope } from '#core/envelope.ts';
import type { Outbox, StepItem } from '#core/items.ts';
import type { Events } from '#core/ports.ts';
import type { Item } from '#core/store.ts';
import { aDeadStep, aDoneStep, aRun, aStep, seed, T0 } from '#test/examples.ts';
import { memoryTopic } from '#test/memory/topic.ts';
import { printed, runIdOf, virtualTime } from '#test/pool-fixtures.ts';
import { collectOn, projectOn, relayOn, streamRecord } from '#test/stream-fixtures.ts';

beforeEach(virtualTime);

const asItem = (item: object): Item => item as Item;
const outbox: Outbox = {
  type: 'inventory.stock.reserved',
  time: new Date(T0).toISOString(),
  source: 'urn:edow:workflow:order',
  dataschema: 'urn:edow:schema:inventory.stock.reserved:2',
  tenant: 'acme',
  correlationid: 'corr-1',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
};
const nth = (n: number, step: StepItem): StepItem => ({
  ...step,
  PK: `RUN#${runIdOf(n)}`,
  runId: runIdOf(n),
  token: `token-${n}`,
});
const done = (n: number) => nth(n, aDoneStep({ outbox }));
const record = (n: number, sequence = String(100 + n)) =>
  streamRecord(asItem(nth(n, aStep())), asItem(done(n)), sequence);
const ten = Array.from({ length: 10 }, (_, n) => n + 1);

describe('H28 stream batch is delivered again, half done or stuck', () => {
  test('H28 ten records, the fourth is not taken: it alone is set aside, and told later', async () => {
    printed();
    const topic = memoryTopic<Envelope>();
    let refuses = true;
    const fourth = `${runIdOf(4)}/Reserve/0:1`;
    const events: Events = {
      publish: async (all) => {
        const kept = all.filter(({ id }) => !(refuses && id === fourth));
        await topic.publish(kept);
        return all.filter((event) => !kept.includes(event)).map(({ id }) => id);
      },
    };
    const relay = relayOn(events);
    expect(await relay.stream(ten.map((n) => record(n)))).toEqual([]);
    expect(topic.taken).toHaveLength(9);
    expect(relay.retries.records).toHaveLength(1);
    expect(relay.retries.records[0]).toContain(runIdOf(4));
    expect(await relay.again({ records: [...relay.retries.records] })).toHaveLength(1);
    refuses = false;
    expect(await relay.again(relay.retries)).toEqual([]);
    expect(topic.taken.at(-1)).toMatchObject({ id: fourth, data: { reservationId: 'r-1' } });
  });

  test('H28 its retry queue is away too: the fourth is reported by its number, again and again until it is back', async () => {
    printed();
    const topic = memoryTopic<Envelope>();
    topic.refuse(`${runIdOf(4)}/Reserve/0:1`);
    const relay = relayOn(topic);
    relay.retries.fails = true;
    expect(await relay.stream(ten.map((n) => record(n)))).toEqual(['104']);
    expect(await relay.stream(ten.slice(3).map((n) => record(n)))).toEqual(['104']);
    relay.retries.fails = false;
    expect(await relay.stream(ten.slice(3).map((n) => record(n)))).toEqual([]);
  });

  test('H28 an item that changed twice: the later event is not told before the earlier', async () => {
    printed();
    const topic = memoryTopic<Envelope>();
    topic.refuse(`${runIdOf(1)}/Reserve/0:1`);
    const relay = relayOn(topic);
    const dead = asItem(nth(1, aDeadStep({ outbox: { ...outbox, type: 'edow.task.failed', data: '{}' } })));
    const later = asItem({ ...done(1), seq: 2 });
    await relay.stream([
      streamRecord(asItem(nth(1, aStep())), dead, '1'),
      record(2),
      streamRecord(dead, later, '2'),
    ]);
    expect(topic.taken.map(({ id }) => id)).toEqual([`${runIdOf(2)}/Reserve/0:1`]);
    expect(relay.retries.records).toHaveLength(2);
  });

  test('H28 delivered again in part and in whole: the same event ids, and each answer once', async () => {
    printed();
    const topic = memoryTopic<Envelope>();
    const relay = relayOn(topic);
    const collect = collectOn();
    for (const n of ten) {
      collect.answers.open(`token-${n}`);
      await seed(collect.store, { ...aRun(), PK: `RUN#${runIdOf(n)}`, runId: runIdOf(n) }, done(n));
    }
    for (const from of [0, 3, 0]) {
      const records = ten.slice(from).map((n) => record(n));
      expect(await relay.stream(records)).toEqual([]);
      expect(await collect.stream(records)).toEqual([]);
    }
    expect(topic.taken).toHaveLength(27);
    expect(new Set(topic.taken.map(({ id, source }) => `${source} ${id}`)).size).toBe(10);
    expect(collect.answers.accepted).toHaveLength(10);
    // The next inbox: doubled events change nothing there.
    const once = projectOn();
    await once.feed(...topic.taken.slice(0, 10));
    const twice = projectOn();
    await twice.feed(...topic.taken);
    expect(await twice.views.timeline(runIdOf(5))).toEqual(await once.views.timeline(runIdOf(5)));
    expect(await twice.views.timeline(runIdOf(5))).toHaveLength(1);
  });

  const keys = record(4).dynamodb?.Keys;
  const unusable: [string, object][] = [
    ['no image', { NewImage: undefined }],
    ['an image of another table', { NewImage: { id: { S: 'x' } } }],
    ['an image with bytes', { NewImage: { ...keys, blob: { B: 'AAEC' } } }],
    ['an image with null', { NewImage: { ...keys, none: { NULL: true } } }],
    ['an image with a type that is none', { NewImage: { ...keys, odd: {} } }],
    ['an image that is a text', { NewImage: 'x' }],
    ['an old image that is none of ours', { OldImage: { ...keys, blob: { NS: ['1'] } } }],
  ];
  test.each(unusable)(
    'H28 a record with %s is set aside by its keys, and its batch-mates go on',
    async (_name, changes) => {
      const log = printed();
      const topic = memoryTopic<Envelope>();
      const relay = relayOn(topic);
      const collect = collectOn();
      for (const n of ten) collect.answers.open(`token-${n}`);
      await seed(collect.store, { ...aRun(), PK: `RUN#${runIdOf(4)}`, runId: runIdOf(4) }, done(4));
      const odd = { ...record(4), dynamodb: { ...record(4).dynamodb, ...changes } };
      const records = ten.map((n) => (n === 4 ? odd : record(n)));
      expect(await relay.stream(records)).toEqual([]);
      expect(await collect.stream(records)).toEqual([]);
      expect(topic.taken).toHaveLength(9);
      expect(collect.answers.accepted).toHaveLength(9);
      const keysOnly = [JSON.stringify({ PK: `RUN#${runIdOf(4)}`, SK: 'STEP#Reserve' })];
      expect([relay.retries.records, collect.retries.records]).toEqual([keysOnly, keysOnly]);
      // What was to be told is not known any more: it goes on to the dead-letter queue. An answer is read again.
      expect(await relay.again(relay.retries)).toEqual(keysOnly);
      expect(await collect.again(collect.retries)).toEqual([]);
      expect(collect.answers.accepted).toHaveLength(10);
      expect(log.entries().some(({ level }) => level === 'ERROR')).toBe(true);
    },
  );

  test('H28 a record without keys is reported by its number; one without either is told in the log, and nothing is thrown', async () => {
    const log = printed();
    const collect = collectOn();
    collect.answers.open('token-1');
    const bare = { eventName: 'MODIFY', dynamodb: { SequenceNumber: '7' } };
    expect(await collect.stream([bare, record(1)])).toEqual(['7']);
    for (const odd of [{}, { dynamodb: {} }, { dynamodb: null }, null, 7, 'x'])
      expect(await collect.stream([odd, record(2)])).toEqual([]);
    expect(await collect.stream([{ ...bare, eventName: 'REMOVE' }])).toEqual([]);
    expect(collect.answers.accepted).toHaveLength(1);
    expect(
      log.entries().filter(({ message }) => String(message).includes('nothing can be done')),
    ).toHaveLength(6);
  });

  test.each([[''], ['not json'], ['null'], ['[]'], ['42'], ['{"PK":1,"SK":2}'], ['{"Service":"x"}']])(
    'H28 a message %j on a retry queue stands alone and goes to the dead-letter queue',
    async (body) => {
      const log = printed();
      for (const entry of [relayOn(memoryTopic<Envelope>()), collectOn()])
        expect(await entry.again({ records: [body] })).toEqual([body]);
      expect(log.entries().every(({ level }) => level === 'ERROR')).toBe(true);
    },
  );

  test('H16 rows with tiny, huge and many-digit numbers are read without a crash', async () => {
    printed();
    const collect = collectOn();
    collect.answers.open('token-1');
    const odd = record(1);
    const image = odd.dynamodb?.NewImage ?? {};
    for (const text of [
      '0.0000001',
      '1E+100',
      '-1E-130',
      '9007199254740993',
      '0.12345678901234567890123456789012345678',
    ])
      Object.assign(image, { [`odd${text}`]: { N: text } });
    expect(await collect.stream([odd])).toEqual([]);
    expect(collect.answers.accepted).toHaveLength(1);
  });
});
