import { expect, test } from 'vitest';
import { releasesOf } from '#adapters/sqs-letters.ts';

const QUEUE = 'https://sqs.eu-west-1.amazonaws.com/111122223333/dead';

test('letters are shown again in calls of ten at most, in order', () => {
  const letters = Array.from({ length: 23 }, (_, at) => ({ receiptHandle: `receipt-${at}` }));
  const calls = releasesOf(QUEUE, letters).map(({ input }) => input);
  expect(calls.map(({ QueueUrl }) => QueueUrl)).toEqual([QUEUE, QUEUE, QUEUE]);
  expect(calls.map(({ Entries = [] }) => Entries.length)).toEqual([10, 10, 3]);
  for (const { Entries = [] } of calls)
    expect(new Set(Entries.map(({ Id }) => Id)).size).toBe(Entries.length);
  const entries = calls.flatMap(({ Entries = [] }) => Entries);
  expect(entries.map(({ ReceiptHandle }) => ReceiptHandle)).toEqual(letters.map((one) => one.receiptHandle));
  expect(new Set(entries.map(({ VisibilityTimeout }) => VisibilityTimeout))).toEqual(new Set([0]));
});

test('of no letters there is no call, which SQS would refuse', () => {
  expect(releasesOf(QUEUE, [])).toEqual([]);
});
