/** What every adapter of a topic does. */
import { beforeAll, expect, test } from 'vitest';
import { type Command, commandOf } from '#core/envelope.ts';

export interface TopicUnderTest {
  readonly publish: (commands: readonly Command[]) => Promise<string[]>;
  /** Bodies that a subscriber got, until there are as many or two seconds are over. */
  readonly received: (count: number) => Promise<string[]>;
}

const command = (id: string, data: unknown): Command =>
  commandOf({
    taskId: id,
    workflow: 'order',
    runId: '01RUN',
    stepKey: 'Reserve',
    contract: { type: 'inventory.stock.reserve', version: 1, tries: 3 },
    tenant: 'default',
    correlationId: 'c',
    traceparent: '00-0-0-01',
    execution: 10_000,
    entry: 0,
    enteredAt: 0,
    deadline: 1_000,
    data,
  });

/** @param make a topic with one subscriber that sees only this suite's messages; called once */
export function topicContract(make: () => Promise<TopicUnderTest>): void {
  let topic: TopicUnderTest;
  beforeAll(async () => {
    topic = await make();
  });

  test('every message arrives once, as it was sent, however many there are', async () => {
    const sent = Array.from({ length: 23 }, (_, n) => command(`task-${n}`, { n, text: 'naïve ✓' }));
    expect(await topic.publish(sent)).toEqual([]);
    const got = (await topic.received(sent.length)).map((body) => JSON.parse(body) as Command);
    expect(got).toHaveLength(sent.length);
    expect(new Map(got.map((one) => [one.id, one]))).toEqual(new Map(sent.map((one) => [one.id, one])));
  });

  test('what is too large is told and does not keep the others', async () => {
    const large = command('large', 'x'.repeat(262_144));
    expect(await topic.publish([command('before', 1), large, command('after', 2)])).toEqual(['large']);
    const got = (await topic.received(2)).map((body) => (JSON.parse(body) as Command).id);
    expect(got.sort()).toEqual(['after', 'before']);
  });

  test('messages that together exceed one batch arrive all', async () => {
    const sent = Array.from({ length: 4 }, (_, n) => command(`big-${n}`, 'x'.repeat(120_000)));
    expect(await topic.publish(sent)).toEqual([]);
    const got = (await topic.received(4)).map((body) => (JSON.parse(body) as Command).id);
    expect(got.sort()).toEqual(['big-0', 'big-1', 'big-2', 'big-3']);
  });

  test('nothing to publish is nothing to do', async () => {
    expect(await topic.publish([])).toEqual([]);
  });
}
