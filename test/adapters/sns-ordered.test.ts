/** Commands of ordered pools: one of each key at a time, on the FIFO topic. */
import { PublishBatchCommand, type PublishBatchCommandInput, SNSClient } from '@aws-sdk/client-sns';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, describe, expect, test } from 'vitest';
import { snsCommands } from '#adapters/sns-publisher.ts';
import type { Command } from '#core/envelope.ts';
import { aCommand } from '#test/examples.ts';

const mock = mockClient(SNSClient);
afterEach(() => mock.reset());

const STANDARD = 'arn:aws:sns:eu-west-1:111122223333:commands';
const FIFO = 'arn:aws:sns:eu-west-1:111122223333:ordered.fifo';
const parts = {
  client: new SNSClient({}),
  topicArn: STANDARD,
  ids: { random: () => 0.5 },
  wait: async () => {},
};
const commands = snsCommands({ ...parts, orderedTopicArn: FIFO });

const plain = (id: string): Command => aCommand({ id });
const ordered = (id: string, partitionkey: string, more: Partial<Command> = {}): Command =>
  aCommand({ id, partitionkey, ...more });

const inputs = () => mock.commandCalls(PublishBatchCommand).map(({ args }) => args[0].input);
const entriesOf = ({ PublishBatchRequestEntries = [] }: PublishBatchCommandInput) =>
  PublishBatchRequestEntries;
const idsIn = (input: PublishBatchCommandInput): string[] =>
  entriesOf(input).map(({ Message = '' }) => (JSON.parse(Message) as Command).id);
const allEntries = () => inputs().flatMap(entriesOf);

/** The topic does not take these ids. */
const refusing = (...ids: string[]) =>
  mock.on(PublishBatchCommand).callsFake((input: PublishBatchCommandInput) => ({
    Failed: idsIn(input).flatMap((id, index) =>
      ids.includes(id) ? [{ Id: String(index), Code: 'X', SenderFault: true }] : [],
    ),
  }));

test('the key is the group; those without one go to the standard topic, without an id', async () => {
  mock.on(PublishBatchCommand).resolves({});
  expect(await commands.publish([plain('p'), ordered('o', 'key-1')])).toEqual([]);
  expect(inputs().map(({ TopicArn }) => TopicArn)).toEqual([STANDARD, FIFO]);
  const [standard, fifo] = allEntries();
  expect(standard).toMatchObject({ MessageGroupId: plain('p').tenant });
  expect(standard).not.toHaveProperty('MessageDeduplicationId');
  expect(fifo).toMatchObject({
    MessageGroupId: 'key-1',
    MessageDeduplicationId: expect.stringMatching(/^[\w-]{32}$/),
    MessageAttributes: { type: { StringValue: ordered('o', 'key-1').type } },
  });
});

test('the deduplication id is that of task and entry: stable when sent again, new for another entry', async () => {
  mock.on(PublishBatchCommand).resolves({});
  const one = ordered('o', 'key-1', { execution: 1, entry: 0 });
  for (const command of [
    one,
    { ...one, traceparent: '00-1-1-01', time: '2026-11-02T00:00:00.000Z' },
    { ...one, entry: 1 },
    { ...one, execution: 2 },
    { ...one, id: 'other' },
  ])
    await commands.publish([command]);
  const ids = allEntries().map(({ MessageDeduplicationId }) => MessageDeduplicationId);
  expect(ids[1]).toBe(ids[0]);
  expect(new Set(ids).size).toBe(4);
});

test('two of one key are never in one batch, and go out in their order; keys share batches', async () => {
  mock.on(PublishBatchCommand).resolves({});
  const sent = ['a1', 'b1', 'a2', 'c1', 'a3', 'b2'].map((id) => ordered(id, id.slice(0, 1)));
  expect(await commands.publish(sent)).toEqual([]);
  expect(inputs().map(idsIn)).toEqual([['a1', 'b1', 'c1'], ['a2', 'b2'], ['a3']]);
});

test('batches of ten hold ten keys', async () => {
  mock.on(PublishBatchCommand).resolves({});
  await commands.publish(Array.from({ length: 23 }, (_, n) => ordered(`o${n}`, `key-${n}`)));
  expect(inputs().map((input) => idsIn(input).length)).toEqual([10, 10, 3]);
});

describe('what the topic does not take', () => {
  test('holds back what follows it in its key, and nothing of another key', async () => {
    refusing('a1');
    const sent = ['a1', 'b1', 'a2', 'b2', 'a3'].map((id) => ordered(id, id.slice(0, 1)));
    expect(await commands.publish(sent)).toEqual(['a1', 'a2', 'a3']);
    expect(inputs().map(idsIn)).toEqual([['a1', 'b1'], ['b2']]);
  });

  test('in the middle of a key: what went before it is out, what follows is told with it', async () => {
    refusing('a2');
    const sent = ['a1', 'a2', 'a3'].map((id) => ordered(id, 'a'));
    expect(await commands.publish(sent)).toEqual(['a2', 'a3']);
    expect(inputs().map(idsIn)).toEqual([['a1'], ['a2']]);
  });

  test('is all that is ordered where there is no ordered topic; the rest goes out', async () => {
    mock.on(PublishBatchCommand).resolves({});
    const without = snsCommands(parts);
    expect(await without.publish([ordered('a1', 'a'), plain('p'), ordered('b1', 'b')])).toEqual(['a1', 'b1']);
    expect(inputs().map(({ TopicArn }) => TopicArn)).toEqual([STANDARD]);
  });
});
