/** Tasks whose effect is DynamoDB writes of the commit's own transaction. */
import { describe, expect, test } from 'vitest';
import type { InTransaction, TaskContract } from '#core/contract.ts';
import { EdowError, PermanentError } from '#core/errors.ts';
import type { Refusal, Store, TransactResult } from '#core/store.ts';
import type { TableWrite } from '#core/table-write.ts';
import { aDoneStep, aStep, reserve, SECOND, seed } from '#test/examples.ts';
import { unreliableStore } from '#test/unreliable-store.ts';
import { ACK, again, BURN, workBench } from '#test/work-bench.ts';

const posting: TaskContract = { ...reserve, expose: [], mode: 'transactional' };
const OUTPUT = { reservationId: 'r-1' };
const ADD: TableWrite = {
  Update: { TableName: 'stock', Key: { sku: 'a' }, UpdateExpression: 'ADD #n :one' },
};

const returning = (made: Partial<InTransaction<unknown>>) => async () => made;

/** A table of the handler's own: counts what is applied to it, refuses what it is told to. */
function tableOf(refusal: () => Refusal | undefined = () => undefined) {
  const applied: TableWrite[] = [];
  return { applied, refusal, apply: (write: TableWrite) => void applied.push(write) };
}

/** A transaction is answered so, in turn; the last answer is the store's own. */
function answering(...answers: readonly (readonly (Refusal['why'] | undefined)[])[]) {
  const left = [...answers];
  return (memory: Store): Store => ({
    ...memory,
    transact: async (updates, others) => {
      const next = left.shift();
      if (next === undefined) return memory.transact(updates, others);
      const refusals = next.map((why) =>
        why === undefined ? undefined : ({ why, item: undefined } as Refusal),
      );
      return { written: false, refusals } satisfies TransactResult;
    },
  });
}

/** A task that adds to the table, on a store that has its troubles. */
async function adding(store: (memory: Store) => Store) {
  const others = tableOf();
  const handler = returning({ output: OUTPUT, writes: [ADD] });
  return { others, bench: await workBench({ step: aStep(), contract: posting, handler, others, store }) };
}

describe('a transactional task', () => {
  test('stores its result, its event and its effect together', async () => {
    const others = tableOf();
    const handler = returning({ output: OUTPUT, writes: [ADD] });
    const bench = await workBench({ step: aStep(), contract: posting, handler, others });
    expect(await bench.deliver()).toEqual(ACK);
    expect(others.applied).toEqual([ADD]);
    expect(await bench.now()).toMatchObject({
      status: 'done',
      result: JSON.stringify(OUTPUT),
      outbox: { type: posting.event },
    });
  });

  test('with nothing to write commits like any other', async () => {
    const handler = returning({ output: OUTPUT, writes: [] });
    const bench = await workBench({ step: aStep(), contract: posting, handler });
    expect(await bench.deliver()).toEqual(ACK);
    expect(await bench.now()).toMatchObject({ status: 'done' });
  });

  test('whose claim was lost writes nothing of its effect', async () => {
    const { others, bench } = await adding((memory) =>
      unreliableStore(memory, {
        before: ({ name }) =>
          name === 'transact' ? seed(memory, aDoneStep({ fence: 2, owner: 'another' })) : undefined,
      }),
    );
    expect(await bench.deliver()).toEqual(ACK);
    expect(others.applied).toEqual([]);
    expect(await bench.now()).toMatchObject({ owner: 'another' });
    expect(bench.log.lines).toContainEqual(
      expect.objectContaining({ message: 'claim was lost before its outcome' }),
    );
  });

  test('whose answer was lost is recognised: one effect', async () => {
    const { others, bench } = await adding((memory) =>
      unreliableStore(memory, { lost: ({ name, number }) => name === 'transact' && number === 1 }),
    );
    expect(await bench.deliver()).toEqual(ACK);
    expect(others.applied).toEqual([ADD]);
    expect(bench.log.lines).toContainEqual(expect.objectContaining({ message: 'task done' }));
  });

  test('without an answer twice is left to the next delivery', async () => {
    const { bench } = await adding((memory) =>
      unreliableStore(memory, { lost: ({ name }) => name === 'transact' }),
    );
    expect(await bench.deliver()).toEqual(again(46));
  });
});

describe('H05 each reason of a cancelled transaction is judged on its own', () => {
  const delivered = async (
    answers: readonly (readonly (Refusal['why'] | undefined)[])[],
    made: Partial<InTransaction<unknown>> = { output: OUTPUT, writes: [ADD] },
  ) => {
    const others = tableOf();
    const bench = await workBench({
      step: aStep(),
      contract: posting,
      handler: returning(made),
      others,
      store: answering(...answers),
    });
    return { bench, others, disposition: await bench.deliver() };
  };

  test.each([
    ['a conflict', [undefined, 'conflict']],
    ['a conflict on the task itself', ['conflict', undefined]],
    ['throttling', [undefined, 'throttled']],
    ['a condition beside a conflict: what it saw may yet change', ['conflict', 'condition']],
  ] as const)(
    '%s is no judgement: later again, no try is used up, one effect in the end',
    async (_name, refusals) => {
      const { bench, others, disposition } = await delivered([refusals]);
      expect(disposition).toMatchObject({ ack: false });
      expect(others.applied).toEqual([]);
      expect(await bench.now()).toMatchObject({ status: 'retrying', tries: 0, clean: 1, deferred: 1 });
      bench.clock.pass(300 * SECOND);
      expect(await bench.deliver({ receiveCount: 2 })).toEqual(ACK);
      expect(others.applied).toEqual([ADD]);
    },
  );

  test.each([
    ['alone', ['condition', undefined]],
    ['beside a conflict', ['condition', 'conflict']],
  ] as const)(
    'the condition of the task itself, %s: the item is read, and not acked on that evidence',
    async (_name, refusals) => {
      const { bench, others, disposition } = await delivered([refusals]);
      // The claim is still there: whoever refused, it was not another holder.
      expect(disposition).toMatchObject({ ack: false });
      expect(others.applied).toEqual([]);
      expect(await bench.now()).toMatchObject({ status: 'claimed' });
    },
  );

  test.each([
    ['write 0 of the handler', [undefined, 'invalid']],
    ["the task's own write", ['invalid', undefined]],
  ] as const)('what DynamoDB does not take is permanent, and had no effect: %s', async (what, refusals) => {
    const { bench, disposition } = await delivered([refusals]);
    expect(disposition).toEqual(BURN);
    expect(await bench.now()).toMatchObject({
      status: 'dead',
      reason: 'permanent',
      clean: 1,
      failure: { message: expect.stringContaining(what) },
    });
  });

  test('a condition of the handler is another try by default: it guards what was read', async () => {
    const { bench, disposition } = await delivered([[undefined, 'condition']]);
    expect(disposition).toEqual(again(1));
    expect(await bench.now()).toMatchObject({ status: 'retrying', tries: 1, clean: 1 });
  });

  test('a transaction that is refused as a whole is a failed try, with that on record', async () => {
    let refusals = 1;
    const { others, bench } = await adding((memory) => ({
      ...memory,
      transact: async (updates, more) => {
        if (refusals-- <= 0) return memory.transact(updates, more);
        throw new EdowError('port_refused', 'TransactWriteItems was refused: AccessDeniedException');
      },
    }));
    expect(await bench.deliver()).toMatchObject({ ack: false });
    expect(await bench.now()).toMatchObject({
      status: 'retrying',
      attempts: [{ class: 'retryable', message: expect.stringContaining('AccessDeniedException') }],
    });
    bench.clock.pass(300 * SECOND);
    expect(await bench.deliver({ receiveCount: 2 })).toEqual(ACK);
    expect(others.applied).toEqual([ADD]);
  });

  test('an error that the handler throws there is as good as one that it returns', async () => {
    const refused = () => {
      throw new PermanentError('out of stock', { noEffect: true, refused: true });
    };
    const { bench, disposition } = await delivered([[undefined, 'condition']], {
      output: OUTPUT,
      writes: [ADD],
      refused,
    });
    expect(disposition).toEqual(BURN);
    expect(await bench.now()).toMatchObject({ failure: { message: 'out of stock', refused: true } });
  });

  test('and what the handler says it is, where it says so', async () => {
    const refused: InTransaction<unknown>['refused'] = ([first]) =>
      new PermanentError(`out of stock at write ${first?.index}`, { noEffect: true, refused: true });
    const { bench, disposition } = await delivered([[undefined, 'condition']], {
      output: OUTPUT,
      writes: [ADD],
      refused,
    });
    expect(disposition).toEqual(BURN);
    expect(await bench.now()).toMatchObject({
      reason: 'permanent',
      failure: { message: 'out of stock at write 0', refused: true },
    });
  });
});

test.each([
  ['nothing', undefined, 'no list "writes"'],
  ['no list', { output: OUTPUT, writes: 'x' }, 'no list "writes"'],
  ['too many', { output: OUTPUT, writes: Array(99).fill(ADD) }, '99 writes'],
  ['an unknown kind', { output: OUTPUT, writes: [{ Truncate: { TableName: 'stock' } }] }, 'write 0'],
  ['two kinds in one', { output: OUTPUT, writes: [ADD, { ...ADD, Delete: { TableName: 't' } }] }, 'write 1'],
  ['no table', { output: OUTPUT, writes: [{ Put: { Item: {} } }] }, 'write 0'],
  ['nothing in a kind', { output: OUTPUT, writes: [{ Put: null }] }, 'write 0'],
  ['an empty place', { output: OUTPUT, writes: [null] }, 'write 0'],
])(
  'a transactional handler that returns %s is written wrong: dead with that on record',
  async (_name, made, message) => {
    const bench = await workBench({ step: aStep(), contract: posting, handler: async () => made });
    expect(await bench.deliver()).toEqual(BURN);
    expect(await bench.now()).toMatchObject({
      reason: 'permanent',
      failure: { name: 'ContractError', message: expect.stringContaining(message) },
    });
  },
);
