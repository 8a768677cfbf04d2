import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJson, UnsafeJson, wireText } from '#core/json-text.ts';

describe('parseJson', () => {
  test.each([
    '0',
    '-0',
    '0.0',
    '0e7',
    '1.10',
    '100',
    '1e2',
    '1E+2',
    '1e-5',
    '-120e-1',
    '0.00120E3',
    '1.5e-7',
    '9007199254740991',
    '-9007199254740991',
    '1e21',
    '1000000000000000000000',
    '0.1',
    '1.7976931348623157e308',
    '5e-324',
  ])('%s is kept exactly', (text) => {
    expect(parseJson(text)).toBe(JSON.parse(text));
  });

  test.each([
    '9007199254740993',
    '1e400',
    '-1e400',
    '1e-400',
    '0.10000000000000000001',
    '1234567890123456789',
    '3.14159265358979323846',
  ])('%s would be rounded, and is refused', (text) => {
    expect(() => parseJson(`{"amount":[${text}]}`)).toThrow(UnsafeJson);
    expect(() => parseJson(text)).toThrow('send it as text');
  });

  test('up to 15 digits are kept, however they are written', () => {
    const places = fc.integer({ min: -20, max: 20 });
    fc.assert(
      fc.property(
        fc.integer({ min: -(10 ** 15) + 1, max: 10 ** 15 - 1 }),
        places,
        places,
        (digits, exponent, more) => {
          const text = `${digits}e${exponent}`;
          expect(parseJson(text)).toBe(JSON.parse(text));
          // A number of its own has no zero in front.
          const padded = `${digits || 1}${'0'.repeat(Math.abs(more))}e${exponent - Math.abs(more)}`;
          expect(parseJson(padded)).toBe(JSON.parse(padded));
        },
      ),
      { numRuns: 300 },
    );
  });

  test('every number that JavaScript writes is read back', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        expect(parseJson(JSON.stringify(number))).toBe(number === 0 ? 0 : number);
      }),
      { numRuns: 500 },
    );
  });

  test.each(['__proto__', 'constructor', 'prototype'])(
    'a member named "%s" is refused at any depth',
    (name) => {
      const caught = (() => {
        try {
          return parseJson(`{"a":[{"${name}":1}]}`);
        } catch (error) {
          return error;
        }
      })();
      expect(caught).toBeInstanceOf(UnsafeJson);
      expect(caught).toMatchObject({ name: 'UnsafeJson', pointer: `/a/0/${name}` });
      expect(() => parseJson(JSON.stringify({ a: name }))).not.toThrow();
    },
  );

  test('half of a surrogate pair is refused in texts and in names, and never repeated', () => {
    expect(() => parseJson('{"a":"x\\ud83d"}')).toThrow('a text holds half of a surrogate pair');
    expect(() => parseJson('{"x\\ud83d":1}')).toThrow('a member name holds half of a surrogate pair');
    expect(parseJson('{"a":"\\ud83d\\ude00"}')).toEqual({ a: '😀' });
  });

  test.each([
    ['1e400', ''],
    ['"\\ud83d"', ''],
    ['{"a":[1,{"b/c~d":1e400}]}', '/a/1/b~1c~0d'],
    ['{"a":{"b":1},"c":[[1e400]],"d":1e999}', '/c/0/0'],
    ['[{"\\ud83d":1}]', '/0/\ufffd'],
  ])('the first fault of %s is at "%s"', (text, pointer) => {
    expect(() => parseJson(text)).toThrow(expect.objectContaining({ name: 'UnsafeJson', pointer }));
  });

  test('100 levels are read, 101 are not; what stands in texts is no level', () => {
    const nested = (levels: number) => `${'[{"a":'.repeat(levels / 2)}"[[{{\\"[["${'}]'.repeat(levels / 2)}`;
    expect(parseJson(nested(100))).toEqual(JSON.parse(nested(100)));
    for (const text of [`[${nested(100)}]`, nested(100_000), '['.repeat(100_000)])
      expect(() => parseJson(text)).toThrow('nested more than 100 levels');
  });

  test('what is no JSON is a SyntaxError', () => {
    expect(() => parseJson('{')).toThrow(SyntaxError);
  });

  test('is JSON.parse for all else', () => {
    const plain = fc.json().filter((json) => !/"(?:__proto__|constructor|prototype)"/.test(json));
    fc.assert(
      fc.property(plain, (text) => {
        expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });
});

describe('wireText', () => {
  test('escapes the two characters that queues refuse, and nothing else', () => {
    expect(wireText({ a: '\ufffe\uffff\ufffdé' })).toBe('{"a":"\\ufffe\\uffff\ufffdé"}');
  });

  test('is read back as the value, and holds only what SQS takes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const wire = wireText({ text });
        expect(JSON.parse(wire)).toEqual({ text });
        // biome-ignore lint/suspicious/noControlCharactersInRegex: the characters that SQS refuses
        expect(wire).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/);
      }),
    );
  });
});
