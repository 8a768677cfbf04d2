import { describe, expect, test } from 'vitest';
import { CliError, explain } from '#cli/errors.ts';
import { EdowError, PortUnavailable } from '#core/errors.ts';
import { LocalCloudError } from '#local/errors.ts';

const named = (name: string, more: object = {}) =>
  Object.assign(new Error('text of the service'), { name }, more);
const explained = (error: unknown, isLocal = false) => explain(error, 'the cloud', isLocal);

describe('whatever was thrown becomes one line and a next step', () => {
  test.each<[string, unknown, string, RegExp]>([
    ['connection refused', named('Error', { code: 'ECONNREFUSED' }), 'unreachable', /does not answer/],
    [
      'refused on IPv6 and IPv4',
      new TypeError('fetch failed', {
        cause: new AggregateError([named('Error', { code: 'ECONNREFUSED' })]),
      }),
      'unreachable',
      /does not answer/,
    ],
    [
      'behind an adapter',
      new PortUnavailable('Query is unavailable: Error', { cause: named('Error', { code: 'ENOTFOUND' }) }),
      'unreachable',
      /does not answer/,
    ],
    ['no credentials', named('CredentialsProviderError'), 'credentials_missing', /no AWS credentials/],
    ['expired', named('ExpiredTokenException'), 'credentials_refused', /does not take these credentials/],
    [
      'denied, behind an adapter',
      new EdowError('port_refused', 'Query was refused', { cause: named('AccessDeniedException') }),
      'access_denied',
      /does not allow this/,
    ],
    [
      'certificate',
      named('Error', { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }),
      'untrusted_certificate',
      /not trusted/,
    ],
    ['no region', new Error('Region is missing'), 'region_missing', /no AWS region/],
    ['throttled', named('ThrottlingException'), 'throttled', /is throttling/],
  ])('%s', (_, error, code, message) => {
    const told = explained(error);
    expect(told.code).toBe(code);
    expect(told.message).toMatch(message);
    expect(told.message).not.toContain('\n');
    expect(told.nextStep).not.toBe('');
    expect(told.exitCode).toBe(1);
  });

  test('a denied action is named', () => {
    const text =
      'User: arn:aws:iam::1:user/a is not authorized to perform: sqs:ReceiveMessage on resource: arn';
    expect(explained(Object.assign(new Error(text), { name: 'AccessDenied' })).message).toBe(
      'the cloud does not allow this to your credentials (sqs:ReceiveMessage)',
    );
  });

  test('errors with a next step of their own are told as they are', () => {
    expect(explained(new CliError('a', 'wrong', 'do this', { exitCode: 2 }))).toEqual({
      code: 'a',
      message: 'wrong',
      nextStep: 'do this',
      exitCode: 2,
    });
    expect(explained(new LocalCloudError('port_taken', 'taken', 'another'))).toEqual({
      code: 'port_taken',
      message: 'taken',
      nextStep: 'another',
      exitCode: 1,
    });
  });

  test('a local cloud that does not answer is started again', () => {
    const error = named('Error', { code: 'ECONNRESET' });
    expect(explained(error, true).nextStep).toContain('npx edow up');
    expect(explained(error, false).nextStep).not.toContain('npx edow up');
  });

  test('the unexpected: bounded, on one line, with its cause', () => {
    const told = explained(new Error('first\nline', { cause: new Error('x'.repeat(5000)) }));
    expect(told.message).toMatch(/^first line: x+$/);
    expect(told.message.length).toBeLessThanOrEqual(600);
    expect(explained('text').message).toBe('text');
  });

  test('a chain that bites its tail ends', () => {
    const error = new Error('round');
    error.cause = error;
    expect(explained(error).code).toBe('unexpected');
  });
});
