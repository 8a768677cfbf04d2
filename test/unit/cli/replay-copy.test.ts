import { describe, expect, test } from 'vitest';
import type { DeadLetter, LetterCopy, Source } from '#cli/ports.ts';
import { replayCopy } from '#cli/replay-copy.ts';
import { commandBody, letter, source } from './fake-letters.ts';

const RUN = '01M8MJH2GRNCRTQZXW4FXC62VA';
const shipping = source('shipping');
const fifo: Source = { ...shipping, queueUrl: 'q/shipping.fifo', dlqUrl: 'dlq/shipping.fifo' };
const text = (value: string) => ({ dataType: 'String', text: value });
const others = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`a${n}`, text(String(n))]));

/** What SQS hands out when a copy has died: a new message with what was sent. */
const diedAgain = ({ body, attributes, groupId }: LetterCopy, messageId: string): DeadLetter =>
  letter(body, { attributes, messageId, ...(groupId !== undefined && { groupId }) });

test('H27(b): dead-lettered and replayed three times, all is equal but the counter and the lineage', () => {
  const body = `{"id":"${RUN}/S/0", "correlationid":"c-1","data":{"n":1.0,"ä":"\\u00e4"}}`;
  const original = letter(body, {
    groupId: 'tenant-1',
    attributes: {
      type: text('shipping.parcel.ship'),
      tenant: text('tenant-1'),
      blob: { dataType: 'Binary', bytes: new Uint8Array([0, 255]) },
    },
  });
  let last = original;
  const copies: LetterCopy[] = [];
  for (const replay of [1, 2, 3]) {
    const copy = replayCopy(shipping, last, replay) as LetterCopy;
    copies.push(copy);
    last = diedAgain(copy, `copy-${replay}`);
  }
  for (const [index, { attributes, ...copy }] of copies.entries()) {
    expect(copy).toEqual({ body, groupId: 'tenant-1' });
    const { replay, replayof, ...kept } = attributes;
    expect(kept).toEqual(original.attributes);
    expect(replay).toEqual({ dataType: 'Number', text: String(index + 1) });
    expect(replayof).toEqual(text(index === 0 ? original.messageId : `copy-${index}`));
  }
});

describe('at most ten attributes', () => {
  test.each([
    [7, ['replay', 'edited', 'replayof']],
    [8, ['replay', 'edited']],
    [9, ['replay']],
  ])('%i of others leave room for %j', (count, added) => {
    const edited = { body: '{}', digest: 'd' };
    const copy = replayCopy(shipping, letter('{}', { attributes: others(count) }), 1, edited);
    expect(Object.keys(copy?.attributes ?? {})).toEqual([...Object.keys(others(count)), ...added]);
  });

  test('ten leave none for the number: there is no copy', () => {
    expect(replayCopy(shipping, letter('{}', { attributes: others(10) }), 1)).toBeUndefined();
  });

  test('the marks of earlier replays are replaced, not added to', () => {
    const attributes = { ...others(8), replay: text('4'), replayof: text('m') };
    const copy = replayCopy(shipping, letter('{}', { attributes, messageId: 'n' }), 5);
    expect(Object.keys(copy?.attributes ?? {})).toHaveLength(10);
    expect(copy?.attributes['replayof']).toEqual(text('n'));
  });
});

describe('for a FIFO queue', () => {
  const one = letter(commandBody(RUN, 'S'), { groupId: 'key-1' });
  const idOf = (of: DeadLetter, replay: number) => replayCopy(fifo, of, replay)?.deduplicationId;

  test('the group is kept; the deduplication id is new for each number, and the same for one', () => {
    expect(replayCopy(fifo, one, 1)?.groupId).toBe('key-1');
    expect(idOf(one, 1)).toMatch(/^[\w-]{32}$/);
    expect(idOf(one, 1)).toBe(idOf({ ...one, messageId: 'another copy' }, 1));
    const entered = (entry: number) =>
      letter(JSON.stringify({ ...JSON.parse(one.body), execution: 1, entry }));
    const ids = [idOf(one, 1), idOf(one, 2), idOf(letter(commandBody(RUN, 'T')), 1), idOf(entered(1), 1)];
    expect(new Set([...ids, idOf(entered(2), 1)]).size).toBe(5);
  });

  test('a standard queue gets none', () => {
    expect(replayCopy(shipping, one, 1)).not.toHaveProperty('deduplicationId');
  });
});
