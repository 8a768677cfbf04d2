import { describe, expect, test } from 'vitest';
import { call, isRefusal } from '#adapters/call.ts';
import { EdowError, PortUnavailable } from '#core/errors.ts';

/** An error as the SDK throws it. */
const sdkError = (name: string, fault?: 'client' | 'server', httpStatusCode?: number): Error =>
  Object.assign(new Error(`text of ${name} with "a secret"`), {
    name,
    ...(fault && { $fault: fault, $metadata: { httpStatusCode } }),
  });

const failing = (error: unknown) =>
  call('UpdateItem', async () => {
    throw error;
  });

describe('the answer is unknown, or "not now"', () => {
  test.each([
    ['throttled', sdkError('ThrottlingException', 'client', 400)],
    ['over the table', sdkError('ProvisionedThroughputExceededException', 'client', 400)],
    ['over the account', sdkError('RequestLimitExceeded', 'client', 400)],
    ['a transaction in its way', sdkError('TransactionConflictException', 'client', 400)],
    ['SNS throttled', sdkError('Throttled', 'client', 429)],
    ['any 429', sdkError('Whatever', 'client', 429)],
    ['a server error', sdkError('InternalServerError', 'server', 500)],
    ['a gateway that says client', sdkError('Strange', 'client', 503)],
    ['timed out', sdkError('TimeoutError')],
    ['connection lost', Object.assign(sdkError('Error'), { code: 'ECONNRESET' })],
    ['an answer that is no JSON', new SyntaxError('unexpected <')],
    ['expired credentials', sdkError('ExpiredTokenException', 'client', 403)],
    ['thrown text', 'thrown'],
  ])('%s', async (_what, error) => {
    const thrown = await failing(error).catch((caught: unknown) => caught);
    expect(thrown).toBeInstanceOf(PortUnavailable);
    expect(thrown).toMatchObject({ code: 'port_unavailable', cause: error });
    expect((thrown as Error).message).toMatch(/^UpdateItem is unavailable: \w+$/);
    expect(isRefusal(error)).toBe(false);
  });
});

describe('the service refused', () => {
  test.each(['AccessDeniedException', 'ResourceNotFoundException', 'ValidationException'])(
    '%s',
    async (name) => {
      const error = sdkError(name, 'client', 400);
      const thrown = await failing(error).catch((caught: unknown) => caught);
      expect(thrown).toBeInstanceOf(EdowError);
      expect(thrown).not.toBeInstanceOf(PortUnavailable);
      expect(thrown).toMatchObject({
        code: 'port_refused',
        message: `UpdateItem was refused: ${name}`,
        cause: error,
      });
    },
  );
});

test('an answer that the caller knows is a result', async () => {
  const send = async (): Promise<string> => {
    throw sdkError('Exists', 'client', 400);
  };
  expect(await call('Start', send, (name) => (name === 'Exists' ? 'exists' : undefined))).toBe('exists');
});
