import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ContractError } from '#core/errors.ts';
import { deduplicationId, partitionKeyOf } from '#core/ordering-key.ts';
import { aCommand } from '#test/examples.ts';

const TYPE = 'ledger.entry.post';
const keyOf = (tenant: string, value: unknown) => partitionKeyOf(tenant, TYPE, 'account', { account: value });

describe('partitionKeyOf', () => {
  test('differs by tenant and by value, joined without ambiguity', () => {
    expect(keyOf('a', 'b')).toBe(keyOf('a', 'b'));
    expect(
      new Set([keyOf('a', 'b'), keyOf('a', 'c'), keyOf('b', 'b'), keyOf('a","b', ''.padEnd(1, 'x'))]).size,
    ).toBe(4);
    expect(keyOf('a', 7)).toBe(keyOf('a', '7'));
  });

  test('is a group id that SNS and SQS take, whatever the value', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (value) => {
        expect(keyOf('acme', value)).toMatch(/^[\w-]{32}$/);
      }),
    );
  });

  test.each([[undefined], [null], [''], [true], [{}], [['x']]])('%j is nothing to order by', (value) => {
    expect(() => keyOf('acme', value)).toThrow(ContractError);
    expect(() => partitionKeyOf('acme', TYPE, 'account', null)).toThrow('ordered by "account"');
  });
});

describe('deduplicationId', () => {
  test('is the same for a copy of a publication, and another for each new chance', () => {
    const command = aCommand();
    const ids = [
      deduplicationId(command, 0),
      deduplicationId(command, 1),
      deduplicationId({ ...command, entry: 1 }, 0),
      deduplicationId({ ...command, execution: 20_000 }, 0),
      deduplicationId({ ...command, id: 'another/Reserve/0' }, 0),
    ];
    expect(new Set(ids).size).toBe(5);
    expect(deduplicationId(aCommand(), 0)).toBe(ids[0]);
    expect(ids[0]).toMatch(/^[\w-]{1,128}$/);
  });
});
