import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  asKeyItem,
  executionName,
  executionOf,
  executionOrder,
  keyKey,
  pairOf,
  parseExecutionName,
  runKey,
  splitPartition,
  stepItemKey,
  taskIdOf,
} from '#core/items.ts';
import type { Item } from '#core/store.ts';
import { aRun, aStep, RUN_ID } from '#test/examples.ts';

const execution = fc.integer({ min: 1, max: 99_999 });
const redrive = fc.integer({ min: 0, max: 9999 });
const runId = fc.stringMatching(/^[0-9A-HJKMNP-TV-Z]{26}$/);

test('keys, pairs and ids are written as they are stored', () => {
  expect(runKey('R')).toEqual({ PK: 'RUN#R', SK: 'RUN' });
  expect(stepItemKey('R', 'Reserve')).toEqual({ PK: 'RUN#R', SK: 'STEP#Reserve' });
  expect(keyKey('h')).toEqual({ PK: 'KEY#h', SK: 'KEY' });
  expect(pairOf(10_000, 2)).toBe('10000.2');
  expect(taskIdOf('R', 'Reserve')).toBe('R/Reserve/0');
  expect(taskIdOf('R', 'Reserve', 7)).toBe('R/Reserve/7');
});

describe('the order of executions', () => {
  test('is a number that is stored: it must not change while runs are open', () => {
    expect(executionOrder(2, 3)).toBe(20_003);
  });

  test('compares executions first and their redrives second', () => {
    fc.assert(
      fc.property(execution, redrive, execution, redrive, (e1, r1, e2, r2) => {
        const expected = e1 === e2 ? r1 - r2 : e1 - e2;
        expect(Math.sign(executionOrder(e1, r1) - executionOrder(e2, r2))).toBe(Math.sign(expected));
      }),
    );
  });

  test('gives the execution back, and is a whole number that every store keeps exactly', () => {
    fc.assert(
      fc.property(execution, redrive, (number, redrives) => {
        const order = executionOrder(number, redrives);
        expect(executionOf(order)).toBe(number);
        expect(Number.isSafeInteger(order)).toBe(true);
      }),
    );
  });
});

describe('execution names', () => {
  test('are the run id, then numbered', () => {
    expect(executionName(RUN_ID, 1)).toBe(RUN_ID);
    expect(executionName(RUN_ID, 2)).toBe(`${RUN_ID}-2`);
  });

  test('can be read back, and are what Step Functions takes', () => {
    fc.assert(
      fc.property(runId, execution, (id, number) => {
        const name = executionName(id, number);
        expect(parseExecutionName(name)).toEqual({ runId: id, execution: number });
        expect(name).toMatch(/^[A-Za-z0-9_-]{1,80}$/);
      }),
    );
  });

  test('the first execution is named by its run alone', () => {
    expect(parseExecutionName(RUN_ID)).toEqual({ runId: RUN_ID, execution: 1 });
    expect(parseExecutionName(`${RUN_ID}-2`)).toEqual({ runId: RUN_ID, execution: 2 });
  });

  test.each([
    '',
    'by-hand',
    RUN_ID.slice(1),
    `${RUN_ID}0`,
    `${RUN_ID}-`,
    `${RUN_ID}-0`,
    `${RUN_ID}-1`,
    `${RUN_ID}-02`,
    `${RUN_ID}-undo`,
    `${RUN_ID}-123456`,
    RUN_ID.replace('K', 'I'),
    RUN_ID.toLowerCase(),
    `${RUN_ID}\n`,
  ])('"%s" is none of ours', (name) => {
    expect(parseExecutionName(name)).toBeUndefined();
  });
});

describe('splitPartition', () => {
  const run = aRun();
  const steps = [aStep({ SK: 'STEP#A' }), aStep({ SK: 'STEP#B' })];

  test('tells the run from its steps, and leaves out all else', () => {
    const items = [...steps, run, { PK: run.PK, SK: 'NOTE#1' }] as unknown as Item[];
    expect(splitPartition(items)).toEqual({ run, steps });
  });

  test('there may be no run', () => {
    expect(splitPartition(steps as unknown as Item[])).toEqual({ run: undefined, steps });
    expect(splitPartition([])).toEqual({ run: undefined, steps: [] });
  });
});

test('a key item is the item as it is stored', () => {
  const item = { ...keyKey('h'), runId: RUN_ID, requestHash: 'x', expiresAt: 5 };
  expect(asKeyItem(item)).toBe(item);
});
