import { expect, test } from 'vitest';
import type { Recorded } from '#cli/aws/trail.ts';
import { count, derive, pricesOf } from '#cli/demo-cost.ts';

const recorded = (service: string, action: string, parameters: object = {}): Recorded => ({
  service,
  action,
  accessKey: 'A',
  parameters: parameters as Record<string, unknown>,
});
const KEY = { PK: { S: 'RUN#1' }, SK: { S: 'STEP#a' } };
const item = { PK: 'RUN#1', SK: 'STEP#a', text: 'x'.repeat(1500) };

test('requests are counted, units follow from the bytes of items, messages are told by topic', () => {
  const counted = count(
    [
      // 1.5 KB written: 2 units; a strong read of up to 4 KB: 1 unit.
      recorded('dynamodb', 'UpdateItem', { Key: KEY }),
      recorded('dynamodb', 'GetItem', { Key: KEY, ConsistentRead: true }),
      // A put of 1 KB or less with the keys of the index of open runs: 1 unit and 1 for the index.
      recorded('dynamodb', 'PutItem', {
        Item: { ...KEY, openShard: { S: 'OPEN#1' }, checkAt: { N: '1' } },
      }),
      recorded('sns', 'PublishBatch', { TopicArn: 'commands' }),
      recorded('sns', 'PublishBatch', { TopicArn: 'events' }),
      recorded('sns', 'PublishBatch', { TopicArn: 'events' }),
      recorded('states', 'StartExecution'),
    ],
    [item],
    'events',
  );
  expect(counted).toEqual({
    requests: {
      'dynamodb.UpdateItem': 1,
      'dynamodb.GetItem': 1,
      'dynamodb.PutItem': 1,
      'sns.PublishBatch': 3,
      'states.StartExecution': 1,
    },
    writeUnits: 4,
    readUnits: 1,
    commands: 1,
    events: 2,
  });
});

test('what nobody sends is derived and says so; prices are per million orders', () => {
  const counted = { requests: {}, writeUnits: 40, readUnits: 20, commands: 4, events: 6 };
  const derived = derive(counted);
  expect(derived).toEqual({ queueRequests: 20, invocations: 26 });
  const prices = pricesOf(counted, derived, 5);
  const usd = Object.fromEntries(prices.map(({ what, usd: each }) => [what.split(':')[0], each]));
  expect(usd['Step Functions']).toBe(125);
  expect(prices.find(({ what }) => what.includes('40 write units'))?.usd).toBe(25);
  expect(prices.find(({ what }) => what.includes('20 read units'))?.usd).toBe(2.5);
  expect(usd['SNS']).toBe(5);
  expect(usd['SQS']).toBeCloseTo(8);
  expect(usd['Lambda']).toBeCloseTo(5.2);
  expect(prices.filter(({ isDerived }) => isDerived).map(({ what }) => what.split(':')[0])).toEqual([
    'SQS',
    'Lambda',
  ]);
});
