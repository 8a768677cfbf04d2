/** Real clients against a server that never answers: a call ends with the time of its record, and none begins later. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { call } from '#adapters/call.ts';
import { callSignal, underSignal } from '#adapters/call-signal.ts';
import { dynamoClient } from '#adapters/dynamo-client.ts';
import { dynamoStore } from '#adapters/dynamo-store.ts';
import { s3Payloads } from '#adapters/s3-payloads.ts';
import { sfnAnswers, sfnClient, sfnExecutions } from '#adapters/sfn.ts';
import { snsClient, snsEvents } from '#adapters/sns-publisher.ts';
import { sqsClient, sqsRetryQueue } from '#adapters/sqs.ts';
import { systemIds } from '#adapters/system.ts';
import { PortUnavailable } from '#core/errors.ts';
import { all } from '#core/store.ts';

let server: Server;
let asked = 0;
beforeAll(async () => {
  server = createServer(() => {
    asked += 1;
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  vi.stubEnv('AWS_ENDPOINT_URL', `http://127.0.0.1:${port}`);
  vi.stubEnv('AWS_REGION', 'us-east-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
});
afterAll(async () => {
  vi.unstubAllEnvs();
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});
beforeEach(() => {
  asked = 0;
});

const TIME_MS = 300;
const key = { PK: 'P', SK: 'S' };
const pointer = `s3://b/payloads/k/${'0'.repeat(32)}#${'0'.repeat(64)}`;
const calls: [string, () => Promise<unknown>][] = [
  ['GetItem', () => dynamoStore(dynamoClient(), 't').get(key)],
  ['UpdateItem', () => dynamoStore(dynamoClient(), 't').update({ key, when: all(), changes: {} })],
  ['PutItem', () => dynamoStore(dynamoClient(), 't').put({ item: key, when: all() })],
  ['Query', () => dynamoStore(dynamoClient(), 't').partition('P')],
  ['SendTaskSuccess', () => sfnAnswers(sfnClient()).succeed('token', '{}')],
  ['SendTaskFailure', () => sfnAnswers(sfnClient()).fail('token', 'E', '')],
  ['StartExecution', () => sfnExecutions(sfnClient()).start('arn:aws:states:r:1:stateMachine:m', 'n', '{}')],
  ['DescribeExecution', () => sfnExecutions(sfnClient()).describe('arn:aws:states:r:1:stateMachine:m', 'n')],
  ['SendMessage', () => sqsRetryQueue(sqsClient(), 'https://sqs/1/q').send('x')],
  ['GetObject', () => s3Payloads({ bucket: 'b' }).get(pointer, 'k')],
  ['PutObject', () => s3Payloads({ bucket: 'b' }).put('k', 'text')],
];

describe('a call that hangs', () => {
  test.each(calls)('%s ends with the time of its record: one request, no second try', async (_name, hang) => {
    const from = performance.now();
    await expect(underSignal(AbortSignal.timeout(TIME_MS), hang)).rejects.toThrow(PortUnavailable);
    expect(performance.now() - from).toBeLessThan(TIME_MS + 700);
    expect(asked).toBe(1);
  });

  test.each(calls)('%s does not begin when the time is over', async (name, late) => {
    await expect(underSignal(AbortSignal.abort(), late)).rejects.toThrow(
      `${name} was not sent: the time of its record is over`,
    );
    expect(asked).toBe(0);
  });

  test('PublishBatch gives back what it could not send, within the time and its two short waits', async () => {
    const parts = { client: snsClient(), topicArn: 'arn:aws:sns:us-east-1:1:t', ids: systemIds() };
    const event = { id: 'e', type: 'a.b.c', tenant: 't' } as never;
    const told = underSignal(AbortSignal.timeout(TIME_MS), () => snsEvents(parts).publish([event]));
    expect(await told).toEqual(['e']);
    expect(asked).toBe(1);
  });
});

test('where no record has a time, clients get none', async () => {
  expect(callSignal()).toBeUndefined();
  expect(await call('GetItem', async (options) => options)).toEqual({});
});
