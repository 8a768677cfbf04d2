import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ContractError,
  EdowError,
  errorFields,
  PayloadGone,
  PermanentError,
  PortUnavailable,
  RetryAfterError,
  TaskError,
} from '#core/errors.ts';
import { fingerprint, judge, redact } from '#core/failure.ts';

const CONTROL = /[\p{Cc}\u2028\u2029\ufffe\uffff]/u;

describe('redact', () => {
  test.each([
    ['an address', 'no mail for ada.l+x@example.co.uk today', 'no mail for <address> today'],
    ['a card number', 'card 4111 1111 1111 1111 declined', 'card <number> declined'],
    ['an account number with hyphens', 'account 1234-5678-9012 closed', 'account <number> closed'],
    ['a bearer token', 'sent Authorization: Bearer abc.def-123=', 'sent Authorization: <credential>'],
    ['a basic credential', 'BASIC dXNlcjpwYXNz refused', '<credential> refused'],
    ['an AWS key', 'key AKIAIOSFODNN7EXAMPLE is unknown', 'key <credential> is unknown'],
    ['an AWS session key', 'key ASIAIOSFODNN7EXAMPLE is unknown', 'key <credential> is unknown'],
    ['a web token', 'token eyJhbGci.eyJzdWIi.c2ln is old', 'token <credential> is old'],
    ['a card number over two lines', 'card 4111 1111\n1111 1111 declined', 'card <number> declined'],
    ['a password', 'login failed: password=hunter2, user x', 'login failed: password=<credential>, user x'],
    ['a quoted key', 'sent {"api_key": "abc"}', 'sent {"api_key=<credential>"}'],
    ['a signed address', 'GET /a?X-Amz-Signature=0f0f&x=1', 'GET /a?X-Amz-Signature=<credential>&x=1'],
    ['a login in an address', 'https://ada:secret@db.example.com/x', 'https://<credential>@db.example.com/x'],
    ['a payment key', 'key sk_live_51Hxyz is wrong', 'key <credential> is wrong'],
    ['a bearer token after a control character', 'Bearer\u0000abc', '<credential>'],
  ])('takes out %s', (_what, text, kept) => {
    expect(redact(text)).toBe(kept);
  });

  test('keeps what helps to find the cause', () => {
    const text = 'HTTP 503 from stock.internal after 12 s (order 1234567890)';
    expect(redact(text)).toBe(text);
  });

  test('replaces control characters and line separators by one space, and trims', () => {
    expect(redact('\u0007a\r\n\tb\u2028c\u0085d ')).toBe('a b c d');
    expect(redact('a\ufffe\uffffb')).toBe('a b');
  });

  test('cuts at the limit and shows that it did', () => {
    expect(redact('x'.repeat(400))).toBe('x'.repeat(400));
    expect(redact('x'.repeat(401))).toBe(`${'x'.repeat(399)}…`);
    expect(redact('abcdef', 4)).toBe('abc…');
  });

  test('a text cut inside a character keeps none of its halves', () => {
    expect(redact('abc😀def', 5).isWellFormed()).toBe(true);
    expect(redact(`${'x'.repeat(1599)}😀`).isWellFormed()).toBe(true);
    expect(redact('half \ud83d of one').isWellFormed()).toBe(true);
  });

  test('any text: bounded, well-formed, no control characters, and nothing more to take out', () => {
    const part = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({
        unit: fc.constantFrom('\n', '\u0000', '\u2028', '\u009f', ' ', '4', '@', 'a', '.', '😀', '\ud800'),
      }),
      fc.emailAddress(),
      fc.stringMatching(/^(?:\d[ -]?){12,19}$/),
      fc.constantFrom('Bearer x.y', 'basic abc=', 'AKIAIOSFODNN7EXAMPLE', 'eyJa.eyJb.c'),
    );
    const text = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(' '));
    fc.assert(
      fc.property(text, fc.integer({ min: 20, max: 400 }), (raw, max) => {
        const kept = redact(raw, max);
        expect(kept.length).toBeLessThanOrEqual(max);
        expect(kept).not.toMatch(CONTROL);
        expect(kept.isWellFormed()).toBe(true);
        expect(kept).toBe(kept.trim());
        if (!kept.endsWith('…')) expect(redact(kept, max)).toBe(kept);
      }),
      { numRuns: 600 },
    );
  });

  test('a long hostile text is read in bounded time', () => {
    const begun = performance.now();
    for (const unit of ['a.', '1 ', '1-', 'bearer ', 'eyJ', 'a@', '\n']) redact(unit.repeat(100_000));
    expect(performance.now() - begun).toBeLessThan(1000);
  });
});

describe('fingerprint', () => {
  const of = (message: string) => fingerprint('retryable', 'Error', message);

  test('is one for messages that differ in numbers, ids and quoted parts only', () => {
    expect(of('order "o-1" took 5 s (run 01K8ZZ00000000000000000007)')).toBe(
      of('order "o-77" took 31 s (run 01K900000000000000000000AB)'),
    );
    expect(of("no item 'a' in 6f1ed002ab5595859014ebf0951522d9")).toBe(
      of("no item 'b' in deadbeefdeadbeefdeadbeefdeadbeef"),
    );
    expect(of('0b9f3a52-7c1d-4e43-9e0a-4f4bb7a1d001 is gone')).toBe(
      of('aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee is gone'),
    );
  });

  test('tells causes apart by words, name and class', () => {
    const one = of('no answer');
    expect(of('no item')).not.toBe(one);
    expect(fingerprint('retryable', 'TypeError', 'no answer')).not.toBe(one);
    expect(fingerprint('permanent', 'Error', 'no answer')).not.toBe(one);
  });

  test('is 12 hex digits', () => {
    expect(of('no answer')).toMatch(/^[0-9a-f]{12}$/);
  });
});

describe('judge', () => {
  const nameless = Object.assign(new Error('x'), { name: '\n' });
  const strange = Object.assign(new Error('x'), { message: { secret: 'payload' } });

  test.each<[string, unknown, object]>([
    [
      'a plain error is retryable',
      new Error('no answer'),
      { class: 'retryable', name: 'Error', message: 'no answer' },
    ],
    [
      'a subclass has its own name',
      new TypeError('x is not a function'),
      { class: 'retryable', name: 'TypeError' },
    ],
    [
      'a refusal for good is permanent',
      new PermanentError('no such sku'),
      { class: 'permanent', name: 'PermanentError' },
    ],
    [
      'a wish to wait is throttled',
      new RetryAfterError('busy', 7),
      { class: 'throttled', name: 'RetryAfterError' },
    ],
    ['a lost payload is permanent', new PayloadGone('gone'), { class: 'permanent', name: 'PayloadGone' }],
    [
      'a broken contract is permanent',
      new ContractError('no fit'),
      { class: 'permanent', name: 'ContractError' },
    ],
    ['a port without an answer is retryable', new PortUnavailable('slow'), { class: 'retryable' }],
    [
      "a task's own error is retryable",
      new TaskError('odd', 'odd'),
      { class: 'retryable', name: 'TaskError' },
    ],
    ['an error of ours with another code is retryable', new EdowError('odd', 'odd'), { class: 'retryable' }],
    [
      'a text is no error, and is not kept',
      'secret',
      { class: 'retryable', name: 'NotAnError', message: 'a string was thrown' },
    ],
    ['nothing is no error', undefined, { name: 'NotAnError', message: 'a undefined was thrown' }],
    ['an error without a name has one', nameless, { name: 'Error' }],
    ['an error whose message is no text is judged all the same', strange, { message: '[object Object]' }],
  ])('%s', (_what, error, expected) => {
    const { failure } = judge(error);
    expect(failure).toMatchObject(expected);
    expect(failure.fingerprint).toBe(fingerprint(failure.class, failure.name, failure.message));
  });

  test('name and message are bounded and redacted', () => {
    const error = Object.assign(new Error(`mail ada@example.com ${'x'.repeat(1000)}`), {
      name: 'N'.repeat(200),
    });
    const { failure } = judge(error);
    expect(failure.name).toHaveLength(80);
    expect(failure.message).toHaveLength(400);
    expect(failure.message).toMatch(/^mail <address> x+…$/);
  });

  test('a refusal on purpose says so; others do not', () => {
    expect(judge(new PermanentError('declined', { refused: true })).failure.refused).toBe(true);
    expect(judge(new PermanentError('no such sku')).failure).not.toHaveProperty('refused');
    expect(judge(new Error('x')).failure).not.toHaveProperty('refused');
  });

  test('a try is without effect only where the task says so', () => {
    expect(judge(new TaskError('early', 'x', { noEffect: true })).noEffect).toBe(true);
    expect(judge(new RetryAfterError('busy', 1, { noEffect: true })).noEffect).toBe(true);
    expect(judge(new PermanentError('x')).noEffect).toBe(false);
    expect(judge(Object.assign(new Error('x'), { noEffect: true })).noEffect).toBe(false);
  });

  test('only a wish to wait has seconds', () => {
    expect(judge(new RetryAfterError('busy', 7.5)).retryAfterSeconds).toBe(7.5);
    expect(judge(Object.assign(new Error('x'), { seconds: 7 })).retryAfterSeconds).toBe(0);
  });

  test.each<[string, () => unknown]>([
    [
      'a name that no text can be made of',
      () => Object.assign(new Error('x'), { name: Object.create(null) }),
    ],
    [
      'a message that throws',
      () =>
        Object.defineProperty(new Error('x'), 'message', {
          get: () => {
            throw new Error('no');
          },
        }),
    ],
    [
      'nothing that may be touched',
      () => {
        const { proxy, revoke } = Proxy.revocable(new Error('x'), {});
        revoke();
        return proxy;
      },
    ],
  ])('an error with %s is a failed try as well, with that on record', (_what, made) => {
    expect(judge(made())).toMatchObject({
      failure: { class: 'retryable', name: 'Error', message: expect.stringContaining('cannot be read') },
      noEffect: false,
      retryAfterSeconds: 0,
    });
  });

  test('whatever is thrown is judged', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withSet: true, withNullPrototype: true }), (thrown) => {
        expect(judge(thrown).failure.class).toBe('retryable');
      }),
    );
  });
});

describe('errors', () => {
  test.each([
    [new EdowError('own', 'x'), 'own', 'EdowError'],
    [new ContractError('x'), 'contract', 'ContractError'],
    [new PortUnavailable('x'), 'port_unavailable', 'PortUnavailable'],
    [new PayloadGone('x'), 'payload_gone', 'PayloadGone'],
    [new PermanentError('x'), 'permanent', 'PermanentError'],
    [new RetryAfterError('x', 1), 'throttled', 'RetryAfterError'],
  ])('%s has a stable code and its own name', (error, code, name) => {
    expect(error).toMatchObject({ code, name, message: 'x' });
    expect(error).toBeInstanceOf(EdowError);
  });

  test('a cause is kept', () => {
    const cause = new Error('below');
    for (const error of [
      new PortUnavailable('x', { cause }),
      new PermanentError('x', { cause }),
      new RetryAfterError('x', 1, { cause }),
    ])
      expect(error.cause).toBe(cause);
  });

  test('a refusal says no on purpose only when told so', () => {
    expect(new PermanentError('x').refused).toBe(false);
    expect(new PermanentError('x', { refused: true }).refused).toBe(true);
  });

  test.each<[string, unknown, object]>([
    ['an error of ours', new PayloadGone('secret'), { error: 'PayloadGone', code: 'payload_gone' }],
    ['any other error', new TypeError('secret'), { error: 'TypeError' }],
    [
      'a code that is a number',
      Object.assign(new Error('secret'), { code: 7 }),
      { error: 'Error', code: '7' },
    ],
    [
      'what lay below',
      new PortUnavailable('secret', { cause: new RangeError('secret') }),
      { error: 'PortUnavailable', code: 'port_unavailable', cause: 'RangeError' },
    ],
    ['a cause that is no error', new Error('secret', { cause: 'secret' }), { error: 'Error' }],
    ['what is no error', 'secret', { error: 'string' }],
  ])('a log line says of %s its names only', (_what, error, fields) => {
    expect(errorFields(error)).toEqual(fields);
  });
});
