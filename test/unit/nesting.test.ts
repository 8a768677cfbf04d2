import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { isDeeper, MESSAGE_LEVELS, RESULT_LEVELS } from '#core/nesting.ts';
import { parseCommand } from '#core/read-command.ts';
import { parseEvent } from '#core/read-event.ts';
import { aCommand, aStep, reserve } from '#test/examples.ts';
import { ACK, BURN, workBench } from '#test/work-bench.ts';

function nested(levels: number): unknown {
  let value: unknown = 'core';
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { in: value };
  return value;
}
/** Far deeper than `JSON.stringify` goes. */
const abyss = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const levelsOf = (value: unknown): number =>
  value === null || typeof value !== 'object'
    ? 0
    : 1 + Math.max(0, ...Object.values(value as object).map(levelsOf));

test('levels are counted as they are, whatever stands in texts and names', () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('{"[', '\\"]', '"', '\\', '[[[[[[[['));
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof({ maxDepth: 8 }, text, fc.array(tie('tree')), fc.dictionary(text, tie('tree'))),
  }));
  fc.assert(
    fc.property(tree, fc.integer({ min: 0, max: 9 }), (value, levels) => {
      expect(isDeeper(JSON.stringify(value), levels)).toBe(levelsOf(value) > levels);
    }),
  );
});

describe('a message that is nested too deep', () => {
  test.each([MESSAGE_LEVELS, 100_000])('with %i levels in its data has a reason of its own', (levels) => {
    const body = JSON.stringify(aCommand()).replace('"data":{', `"data":{"deep":${abyss(levels)},`);
    const problem = `lists and objects are nested more than ${MESSAGE_LEVELS} levels deep`;
    expect(parseCommand(body)).toMatchObject({ problem, harmless: false });
    expect(parseEvent(body)).toMatchObject({ problem });
  });

  test('burns on, with that in the log and none of it', async () => {
    const bench = await workBench({ step: aStep() });
    const body = JSON.stringify(aCommand()).replace('"data":{', `"data":{"SECRET":${abyss(50_000)},`);
    for (const receiveCount of [1, 2]) expect(await bench.deliver({ body, receiveCount })).toEqual(BURN);
    expect(bench.log.lines).toContainEqual(expect.objectContaining({ message: 'message is no command' }));
    expect(JSON.stringify(bench.log.lines)).not.toContain('SECRET');
    expect(await bench.now()).toEqual(aStep());
  });
});

describe('a result', () => {
  const contract = { ...reserve, output: z.unknown(), expose: [] };
  const returning = async (value: unknown) => {
    const bench = await workBench({ step: aStep(), contract, handler: async () => value });
    return { told: await bench.deliver(), step: await bench.now() };
  };

  test('of 1,000 levels is kept, and its next step takes it', async () => {
    const { told, step } = await returning(nested(RESULT_LEVELS));
    expect(told).toEqual(ACK);
    const data = { a: { b: { c: JSON.parse(String(step.result)) } } };
    expect(parseCommand(JSON.stringify({ ...aCommand(), data }))).toMatchObject({ data });
  });

  const cycle: unknown[] = [];
  cycle.push(cycle);
  test.each<[string, unknown, string]>([
    ['1,001 levels deep', nested(RESULT_LEVELS + 1), 'nested more than 1000 levels deep'],
    ['deeper than anybody can walk', JSON.parse(abyss(100_000)), 'is no JSON'],
    ['a cycle', { cycle }, 'is no JSON'],
    ['a BigInt', 1n, 'is no JSON'],
  ])(
    'that is %s fails the task at once: the next try would return the same',
    async (_what, value, message) => {
      const { told, step } = await returning(value);
      expect(told).toEqual(BURN);
      expect(step).toMatchObject({ status: 'dead', reason: 'permanent', failure: { name: 'ContractError' } });
      expect(step.failure?.message).toContain(message);
    },
  );
});
