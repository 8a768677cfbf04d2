import {
  AuthorizationErrorException,
  InternalErrorException,
  PublishBatchCommand,
  type PublishBatchCommandInput,
  SNSClient,
} from '@aws-sdk/client-sns';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, describe, expect, test } from 'vitest';
import { snsEvents } from '#adapters/sns-publisher.ts';
import type { Envelope } from '#core/envelope.ts';

const mock = mockClient(SNSClient);
const waits: number[] = [];
afterEach(() => {
  mock.reset();
  waits.length = 0;
});

const events = snsEvents({
  client: new SNSClient({}),
  topicArn: 'arn:aws:sns:eu-west-1:111122223333:events',
  ids: { random: () => 0.5 },
  wait: async (milliseconds) => void waits.push(milliseconds),
});

const event = (id: string, data: unknown = {}): Envelope => ({
  specversion: '1.0',
  id,
  source: 'urn:edow:workflow:order',
  type: 'inventory.stock.reserved',
  time: '2026-11-01T12:00:00.000Z',
  datacontenttype: 'application/json',
  data,
  correlationid: 'c',
  causationid: 'r',
  traceparent: '00-0-0-01',
  tenant: 'acme',
});
const many = (count: number): Envelope[] => Array.from({ length: count }, (_, n) => event(`e${n}`));

const inputs = () => mock.commandCalls(PublishBatchCommand).map(({ args }) => args[0].input);
const idsIn = ({ PublishBatchRequestEntries: entries = [] }: PublishBatchCommandInput): string[] =>
  entries.map(({ Message = '' }) => (JSON.parse(Message) as Envelope).id);

/** The topic does not take these ids; each entry's own answer. */
const refusing = (senderFault: boolean, ...ids: string[]) =>
  mock.on(PublishBatchCommand).callsFake((input: PublishBatchCommandInput) => ({
    Failed: idsIn(input).flatMap((id, index) =>
      ids.includes(id) ? [{ Id: String(index), Code: 'X', SenderFault: senderFault }] : [],
    ),
  }));

test('the envelope is the message; type and tenant stand beside it; the tenant is the group', async () => {
  mock.on(PublishBatchCommand).resolves({});
  expect(await events.publish([event('e1', { n: 1 })])).toEqual([]);
  expect(inputs()).toEqual([
    {
      TopicArn: 'arn:aws:sns:eu-west-1:111122223333:events',
      PublishBatchRequestEntries: [
        {
          Id: '0',
          Message: JSON.stringify(event('e1', { n: 1 })),
          MessageGroupId: 'acme',
          MessageAttributes: {
            type: { DataType: 'String', StringValue: 'inventory.stock.reserved' },
            tenant: { DataType: 'String', StringValue: 'acme' },
          },
        },
      ],
    },
  ]);
});

test('23 messages go in batches of ten', async () => {
  mock.on(PublishBatchCommand).resolves({});
  expect(await events.publish(many(23))).toEqual([]);
  expect(inputs().map((input) => idsIn(input).length)).toEqual([10, 10, 3]);
  expect(inputs().flatMap(idsIn)).toEqual(many(23).map(({ id }) => id));
});

test('the limit counts UTF-8 bytes and attributes, and what is over it is never sent', async () => {
  mock.on(PublishBatchCommand).resolves({});
  const empty = Buffer.byteLength(JSON.stringify(event('e1', '')));
  // Names, data types and values of both attributes, and the group id.
  const beside =
    'type'.length + 'tenant'.length + 2 * 'String'.length + 'inventory.stock.reserved'.length + 2 * 4;
  const room = 262_144 - empty - beside;
  const fits = event('e1', 'é'.repeat(Math.floor(room / 2)) + 'x'.repeat(room % 2));
  expect(await events.publish([fits])).toEqual([]);
  expect(inputs()).toHaveLength(1);
  mock.resetHistory();
  const over = event('e1', 'é'.repeat(Math.floor(room / 2)) + 'x'.repeat((room % 2) + 1));
  expect(await events.publish([over, event('e2')])).toEqual(['e1']);
  expect(inputs().flatMap(idsIn)).toEqual(['e2']);
});

describe('what the topic does not take', () => {
  test('is sent twice more, alone, with jittered waits that double, then told', async () => {
    refusing(false, 'e3', 'e11');
    expect(await events.publish(many(12))).toEqual(['e3', 'e11']);
    expect(inputs().slice(2).map(idsIn)).toEqual([
      ['e3', 'e11'],
      ['e3', 'e11'],
    ]);
    expect(waits).toEqual([50, 100]);
  });

  test('is not sent again when the fault is ours', async () => {
    refusing(true, 'e1');
    expect(await events.publish(many(2))).toEqual(['e1']);
    expect(inputs()).toHaveLength(1);
  });

  test('is everything while the topic is away; a second round may take it', async () => {
    const away = new InternalErrorException({ message: 'x', $metadata: { httpStatusCode: 500 } });
    mock.on(PublishBatchCommand).rejectsOnce(away).resolves({});
    expect(await events.publish(many(2))).toEqual([]);
    expect(inputs().map(idsIn)).toEqual([
      ['e0', 'e1'],
      ['e0', 'e1'],
    ]);
    mock.reset();
    mock.on(PublishBatchCommand).rejects(away);
    expect(await events.publish(many(2))).toEqual(['e0', 'e1']);
    expect(inputs()).toHaveLength(3);
  });

  test('is thrown as a refusal when no call at all is allowed', async () => {
    mock
      .on(PublishBatchCommand)
      .rejects(new AuthorizationErrorException({ message: 'x', $metadata: { httpStatusCode: 403 } }));
    await expect(events.publish(many(12))).rejects.toThrow('PublishBatch was refused: AuthorizationError');
    expect(inputs()).toHaveLength(2);
  });

  test('is one refused batch only: the others are delivered', async () => {
    const refusal = new AuthorizationErrorException({ message: 'x', $metadata: { httpStatusCode: 400 } });
    mock.on(PublishBatchCommand).rejectsOnce(refusal).resolves({});
    expect(await events.publish(many(12))).toEqual(many(10).map(({ id }) => id));
  });
});
