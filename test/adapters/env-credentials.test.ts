import { afterEach, expect, test, vi } from 'vitest';
import { defaultProvider } from '#adapters/env-credentials.ts';

afterEach(() => vi.unstubAllEnvs());

test('gives what the environment holds at the time of the call', async () => {
  const provide = defaultProvider();
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'ASIAEXAMPLE');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'one');
  vi.stubEnv('AWS_SESSION_TOKEN', 'two');
  expect(await provide()).toEqual({
    accessKeyId: 'ASIAEXAMPLE',
    secretAccessKey: 'one',
    sessionToken: 'two',
  });
  vi.stubEnv('AWS_SESSION_TOKEN', undefined);
  expect(await provide()).toEqual({ accessKeyId: 'ASIAEXAMPLE', secretAccessKey: 'one' });
});

test('says what is missing', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', undefined);
  await expect(defaultProvider()()).rejects.toThrow('AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY');
});
