import { describe, expect, test } from 'vitest';
import { replay } from '#cli/replay.ts';
import { commandBody, fakeQueues, letter, source } from './fake-letters.ts';

const A = '01M8MJH2GRNCRTQZXW4FXC62VA';
const B = '01M8MJH2GRNCRTQZXW4FXC62VB';
const shipping = source('shipping');
const plan = { sources: [shipping], filter: {}, rate: 10, burst: 1, dryRun: false, waitMs: 60_000 };

const many = (count: number, run = A) =>
  Array.from({ length: count }, (_, index) => letter(commandBody(run, `Step${index}`)));

describe('what is sent', () => {
  test('the letter as it is, to the queue that it came from, under the next number', async () => {
    const one = letter(commandBody(A, 'ShipOrder'));
    const again = letter(commandBody(B, 'ShipOrder'), {
      attributes: {
        type: { dataType: 'String', text: 'x' },
        blob: { dataType: 'Binary', bytes: new Uint8Array([1, 2]) },
        replay: { dataType: 'Number', text: '3' },
      },
    });
    const queues = fakeQueues({ shipping: [one, again] });
    const report = await replay(queues.ports, plan);
    const number = (text: string) => ({ dataType: 'Number', text });
    const name = (text: string) => ({ dataType: 'String', text });
    expect(queues.sent.map(({ queueUrl, copy }) => ({ queueUrl, copy }))).toEqual([
      {
        queueUrl: 'q/shipping',
        copy: {
          body: one.body,
          groupId: 'default',
          attributes: { ...one.attributes, replay: number('1'), replayof: name(one.messageId) },
        },
      },
      {
        queueUrl: 'q/shipping',
        copy: {
          body: again.body,
          groupId: 'default',
          attributes: { ...again.attributes, replay: number('4'), replayof: name(again.messageId) },
        },
      },
    ]);
    expect(queues.left('shipping')).toEqual([]);
    expect(report).toMatchObject({ left: 0, unreadable: 0, complete: true });
    expect(report.sent.map(({ task, replay: number }) => [task, number])).toEqual([
      [`${A}/ShipOrder/0`, 1],
      [`${B}/ShipOrder/0`, 4],
    ]);
  });

  test('a task that an earlier replay revived gets a higher number than that one; a task alive does not', async () => {
    const queues = fakeQueues(
      { shipping: [letter(commandBody(A, 'Dead')), letter(commandBody(A, 'Claimed'))] },
      {
        tasks: {
          [`${A}/Dead`]: { status: 'dead', replay: 2 },
          [`${A}/Claimed`]: { status: 'claimed', replay: 2 },
        },
      },
    );
    await replay(queues.ports, plan);
    expect(queues.sent.map(({ replay: number }) => number)).toEqual([3, 1]);
  });

  test('filters by run and task; what does not match is left visible', async () => {
    const [mine, other] = [letter(commandBody(A, 'ShipOrder')), letter(commandBody(B, 'ShipOrder'))];
    const queues = fakeQueues({ shipping: [other, mine] });
    const report = await replay(queues.ports, { ...plan, filter: { run: A } });
    expect(queues.sent.map(({ of }) => of)).toEqual([mine.messageId]);
    expect(report.left).toBe(1);
    expect(queues.left('shipping')).toEqual([other.messageId]);
    expect(queues.hidden.has(other.messageId)).toBe(false);
    expect((await replay(queues.ports, { ...plan, filter: { task: `${A}/ShipOrder/0` } })).sent).toEqual([]);
    expect((await replay(queues.ports, { ...plan, filter: { task: `${B}/ShipOrder/0` } })).sent).toHaveLength(
      1,
    );
  });

  test('no more than the limit, over all queues', async () => {
    const queues = fakeQueues({ shipping: many(3), payment: many(3) });
    const sources = [shipping, source('payment')];
    const report = await replay(queues.ports, { ...plan, sources, limit: 4 });
    expect(report.sent.map(({ source: name }) => name)).toEqual([
      'shipping',
      'shipping',
      'shipping',
      'payment',
    ]);
    expect(queues.left('payment')).toHaveLength(2);
    expect(queues.hidden.size - report.sent.length).toBe(0);
  });

  test('a body that nothing of ours wrote stays, and is told', async () => {
    const queues = fakeQueues({ shipping: [letter('{not json'), letter('[]'), letter('null')] });
    expect(await replay(queues.ports, plan)).toMatchObject({ sent: [], unreadable: 3 });
    expect(queues.left('shipping')).toHaveLength(3);
  });

  test('events and keys of items go back to their queues too', async () => {
    const event = letter(JSON.stringify({ id: `${A}:2`, type: 'edow.run.held', subject: A }));
    const key = letter(JSON.stringify({ PK: `RUN#${A}`, SK: 'STEP#ShipOrder' }));
    const queues = fakeQueues({ project: [event], 'collect-retry': [key] });
    const report = await replay(queues.ports, {
      ...plan,
      sources: [source('project'), source('collect-retry')],
      filter: { run: A },
    });
    expect(report.sent.map(({ source: name, task }) => [name, task])).toEqual([
      ['project', undefined],
      ['collect-retry', `${A}/ShipOrder/0`],
    ]);
  });

  test('an answer or an event that was never told goes back, whatever its task is by now', async () => {
    const key = { PK: `RUN#${A}`, SK: 'STEP#ShipOrder' };
    const image = { PK: { S: key.PK }, SK: { S: key.SK }, outbox: { M: {} } };
    const queues = fakeQueues(
      { collect: [letter(JSON.stringify(key))], relay: [letter(JSON.stringify(image))] },
      { tasks: { [`${A}/ShipOrder`]: { status: 'dead', reason: 'unknown' } } },
    );
    const report = await replay(queues.ports, { ...plan, sources: [source('collect'), source('relay')] });
    expect(report.undecided).toBe(0);
    expect(report.sent.map(({ source: name, task }) => [name, task])).toEqual([
      ['collect', `${A}/ShipOrder/0`],
      ['relay', `${A}/ShipOrder/0`],
    ]);
  });

  test('a dry run sends nothing, deletes nothing, and hides nothing for long', async () => {
    const queues = fakeQueues({ shipping: many(25) });
    const report = await replay(queues.ports, { ...plan, dryRun: true });
    expect(report.sent).toHaveLength(25);
    expect(queues.log).toEqual([]);
    expect(queues.left('shipping')).toHaveLength(25);
    expect(queues.hidden.size).toBe(0);
  });
});

describe('what stays', () => {
  test('a task that waits for a person, or was refused: no copy is a new chance for it', async () => {
    const letters = ['Unknown', 'Refused', 'Dead'].map((step) => letter(commandBody(A, step)));
    const by = { who: 'ada', at: 1 };
    const queues = fakeQueues(
      { shipping: letters },
      {
        tasks: {
          [`${A}/Unknown`]: { status: 'dead', reason: 'unknown' },
          [`${A}/Refused`]: {
            status: 'dead',
            reason: 'permanent',
            failure: { class: 'permanent', name: 'No', message: 'no', fingerprint: 'f', refused: true },
          },
          [`${A}/Dead`]: { status: 'dead', reason: 'permanent', resolvedBy: { how: 'retry', ...by } },
        },
      },
    );
    const report = await replay(queues.ports, plan);
    expect([report.sent.length, report.undecided]).toEqual([1, 2]);
    expect(queues.left('shipping')).toEqual(letters.slice(0, 2).map(({ messageId }) => messageId));
  });

  test('a letter whose attributes leave no room for the number', async () => {
    const attributes = Object.fromEntries(
      Array.from({ length: 10 }, (_, n) => [`a${n}`, { dataType: 'String', text: 'x' }]),
    );
    const queues = fakeQueues({ shipping: [letter(commandBody(A, 'S'), { attributes })] });
    expect(await replay(queues.ports, plan)).toMatchObject({ sent: [], crowded: 1 });
    expect(queues.left('shipping')).toHaveLength(1);
  });

  test('a task that was decided while the letter waited for its turn', async () => {
    const tasks: Record<string, object> = { [`${A}/Step1`]: { status: 'dead', reason: 'exhausted' } };
    const queues = fakeQueues({ shipping: many(2) }, { tasks });
    tasks[`${A}/Step0`] = { status: 'dead', reason: 'exhausted' };
    const sleep = async (milliseconds: number) => {
      tasks[`${A}/Step1`] = { status: 'cancelled' };
      await queues.ports.sleep(milliseconds);
    };
    const slow = { ...plan, rate: 0.1, filter: { reason: 'exhausted' } };
    expect(await replay({ ...queues.ports, sleep }, slow)).toMatchObject({ left: 1 });
    expect(queues.sent).toHaveLength(1);
  });
});

describe('a FIFO queue', () => {
  const fifo = { ...source('shipping'), queueUrl: 'q/shipping.fifo', dlqUrl: 'dlq/shipping.fifo' };

  test('letters go back in the order in which they came, each in its group', async () => {
    const letters = Array.from({ length: 23 }, (_, n) =>
      letter(commandBody(A, `Step${n}`), { groupId: `key-${n % 2}` }),
    );
    const queues = fakeQueues({ 'shipping.fifo': letters });
    await replay(queues.ports, { ...plan, sources: [fifo] });
    expect(queues.sent.map(({ of, copy }) => [of, copy.groupId])).toEqual(
      letters.map(({ messageId, groupId }) => [messageId, groupId]),
    );
    expect(new Set(queues.sent.map(({ copy }) => copy.deduplicationId)).size).toBe(23);
  });

  test('hides a group behind what stays in it: there may be more', async () => {
    const queues = fakeQueues({ 'shipping.fifo': many(3) });
    const only = { ...plan, sources: [fifo], filter: { task: `${A}/Step1/0` } };
    expect((await replay(queues.ports, only)).complete).toBe(false);
    expect((await replay(queues.ports, { ...only, filter: {} })).complete).toBe(true);
  });
});

test('a letter is not begun on once its visibility may have ended', async () => {
  const queues = fakeQueues({ shipping: many(10) });
  let looks = 0;
  const lookUp = async () => {
    looks += 1;
    // One look takes an hour: the others of the batch are seen by others by then.
    if (looks === 1) await queues.ports.sleep(3_600_000);
    return undefined;
  };
  const { receive } = queues.ports.letters;
  let receives = 0;
  const letters = {
    ...queues.ports.letters,
    receive: async (url: string, seconds: number) => {
      receives += 1;
      queues.reappear();
      return receive(url, seconds);
    },
  };
  const report = await replay({ ...queues.ports, letters, lookUp }, plan);
  expect(report.sent).toHaveLength(10);
  expect(new Set(queues.sent.map(({ of }) => of)).size).toBe(10);
  expect(receives).toBe(3);
});

describe('pace', () => {
  test('evenly spread, no faster than the rate; the first at once', async () => {
    const queues = fakeQueues({ shipping: many(25) });
    await replay(queues.ports, { ...plan, rate: 4 });
    expect(queues.sentAt).toEqual(Array.from({ length: 25 }, (_, index) => index * 250));
  });

  test('slower than one a second', async () => {
    const queues = fakeQueues({ shipping: many(3) });
    await replay(queues.ports, { ...plan, rate: 0.1 });
    expect(queues.sentAt).toEqual([0, 10_000, 20_000]);
  });
});

describe('cut short at any point', () => {
  test('sends first, deletes second', async () => {
    const queues = fakeQueues({ shipping: many(2) });
    await replay(queues.ports, plan);
    const [first, second] = queues.sent.map(({ of }) => of);
    expect(queues.log).toEqual([`send ${first}`, `remove ${first}`, `send ${second}`, `remove ${second}`]);
  });

  test.each(Array.from({ length: 6 }, (_, index) => index + 1))(
    'crash at call %i, then once more: every letter was sent, copies under one number',
    async (crashAt) => {
      const letters = many(3);
      const queues = fakeQueues({ shipping: letters }, { crashAt });
      await expect(replay(queues.ports, plan)).rejects.toThrow('crash');
      queues.reappear();
      await replay(queues.ports, plan);
      expect(queues.left('shipping')).toEqual([]);
      const copies = Map.groupBy(queues.sent, ({ of }) => of);
      expect([...copies.keys()].sort()).toEqual(letters.map(({ messageId }) => messageId).sort());
      for (const sent of copies.values())
        expect(new Set(sent.map(({ replay: number }) => number))).toEqual(new Set([1]));
      // Only a crash between the two calls of one letter doubles it.
      const doubled = [...copies.values()].filter((sent) => sent.length > 1).length;
      expect(doubled).toBe(crashAt % 2 === 0 ? 1 : 0);
    },
  );

  test('a letter that comes back while it is looked at is not sent twice in one go', async () => {
    const queues = fakeQueues({ shipping: many(12) });
    const { receive } = queues.ports.letters;
    const ports = {
      ...queues.ports,
      letters: {
        ...queues.ports.letters,
        receive: async (url: string, seconds: number) => {
          const batch = await receive(url, seconds);
          queues.reappear(); // every visibility ends at once
          return batch;
        },
      },
    };
    const report = await replay(ports, { ...plan, dryRun: true });
    expect(new Set(report.sent.map(({ messageId }) => messageId)).size).toBe(report.sent.length);
    expect(report.complete).toBe(false);
  });
});
