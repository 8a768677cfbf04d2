import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ContractError } from '#core/errors.ts';
import { fromInput, fromStep, type Mapping, referencesOf, resolveMapping } from '#core/mapping.ts';

const sources = {
  input: {
    orderId: 'o-1',
    customer: { id: 'c-1' },
    lines: [{ sku: 'a' }, { sku: 'b' }],
    none: null,
    no: false,
  },
  results: new Map<string, unknown>([
    ['Reserve', { reservationId: 'r-1' }],
    ['Empty', undefined],
    ['Null', null],
  ]),
};

describe('references', () => {
  test('name the run input or an earlier step, and the members to follow', () => {
    expect(fromInput()).toEqual({ $from: 'input', path: [] });
    expect(fromInput('customer', 'id')).toEqual({ $from: 'input', path: ['customer', 'id'] });
    expect(fromStep('Reserve', 'reservationId')).toEqual({ $from: 'Reserve', path: ['reservationId'] });
  });

  test('a step cannot be named "input"', () => {
    expect(() => fromStep('input')).toThrow(ContractError);
  });

  test('are found wherever they stand', () => {
    const mapping = {
      a: fromInput('x'),
      b: [1, { c: fromStep('Reserve') }],
      d: null,
      e: 'text',
      f: fromInput(),
    };
    expect(referencesOf(mapping)).toEqual([fromInput('x'), fromStep('Reserve'), fromInput()]);
    expect(referencesOf(fromStep('Reserve'))).toEqual([fromStep('Reserve')]);
    expect(referencesOf('text')).toEqual([]);
    expect(referencesOf(null)).toEqual([]);
  });
});

describe('resolveMapping', () => {
  test.each<[string, Mapping, unknown]>([
    ['the whole input', fromInput(), sources.input],
    ['a nested member', fromInput('customer', 'id'), 'c-1'],
    ['a member of a list', fromInput('lines', '1', 'sku'), 'b'],
    ['a step result', fromStep('Reserve', 'reservationId'), 'r-1'],
    ['null is a value', fromInput('none'), null],
    ['false is a value', fromInput('no'), false],
    ['a result that is null', fromStep('Null'), null],
    ['nothing below null', fromInput('none', 'x'), undefined],
    ['nothing below a text', fromInput('orderId', 'length'), undefined],
    ['a member that is not there', fromInput('gone'), undefined],
    ['a step without result', fromStep('Empty'), undefined],
    ['a step that never ran', fromStep('Ship', 'id'), undefined],
    ['what objects inherit is no member', fromInput('constructor', 'name'), undefined],
    ['what objects inherit is no member, at the root', fromInput('__proto__'), undefined],
    ['a reference without a value leaves its member out', { a: fromInput('gone'), b: 1 }, { b: 1 }],
    ['and is null in a list', [fromInput('gone'), fromInput('orderId')], [null, 'o-1']],
    [
      'deep',
      { a: { b: [{ c: fromStep('Reserve'), d: fromStep('Ship') }] } },
      { a: { b: [{ c: { reservationId: 'r-1' } }] } },
    ],
    ['an object with a member $from only is a literal', { $from: 'input' }, { $from: 'input' }],
    ['an object with a member path only is a literal', { path: ['a'] }, { path: ['a'] }],
  ])('%s', (_what, mapping, expected) => {
    expect(resolveMapping(mapping, sources)).toStrictEqual(expected);
  });

  const json = fc.jsonValue({ maxDepth: 3 }).filter((value) => referencesOf(value as Mapping).length === 0);

  test('a mapping without references is its own value', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(resolveMapping(value as Mapping, sources)).toEqual(value);
      }),
    );
  });

  test('a reference to a path gives what stands at that path of any input', () => {
    fc.assert(
      fc.property(json, fc.array(fc.string(), { maxLength: 4 }), json, (leaf, path, other) => {
        const input = path.reduceRight<unknown>(
          (inner, member) =>
            Object.fromEntries([
              ['0', other],
              [member, inner],
            ]),
          leaf,
        );
        expect(resolveMapping({ at: fromInput(...path) }, { input, results: new Map() })).toEqual({
          at: leaf,
        });
        expect(
          resolveMapping(fromStep('S', ...path), { input: 0, results: new Map([['S', input]]) }),
        ).toEqual(leaf);
      }),
    );
  });

  test('what is resolved is always JSON: nothing undefined at any depth', () => {
    const reference = fc.record({
      $from: fc.constantFrom('input', 'Reserve', 'Ship'),
      path: fc.array(fc.constantFrom('orderId', 'gone', 'customer', 'id'), { maxLength: 2 }),
    });
    const { mapping } = fc.letrec<{ mapping: Mapping }>((tie) => ({
      mapping: fc.oneof(
        { maxDepth: 4 },
        reference,
        fc.constantFrom<Mapping>('text', 0, null, true),
        fc.array(tie('mapping'), { maxLength: 3 }),
        fc.dictionary(fc.string({ maxLength: 3 }), tie('mapping'), { maxKeys: 3 }),
      ) as fc.Arbitrary<Mapping>,
    }));
    fc.assert(
      fc.property(mapping, (any) => {
        const value = resolveMapping(any, sources);
        if (value === undefined) return;
        expect(JSON.parse(JSON.stringify(value))).toStrictEqual(value);
        // Resolving reads nothing from the resolved: input from strangers is never taken for a mapping.
        expect(resolveMapping(any, sources)).toStrictEqual(value);
      }),
    );
  });

  test('input that looks like a reference is not followed', () => {
    const input = { note: { $from: 'Secret', path: [] } };
    const results = new Map([['Secret', 'secret']]);
    expect(resolveMapping({ note: fromInput('note') }, { input, results })).toEqual(input);
  });
});
