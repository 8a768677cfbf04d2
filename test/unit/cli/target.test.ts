import { describe, expect, test } from 'vitest';
import { apiRoot, chooseTarget, nameOf } from '#cli/target.ts';

const LOCAL = 'https://127.0.0.1:4566';
const running = { state: 'running', cloud: { endpoint: LOCAL } } as const;
const stale = { state: 'stale', cloud: { endpoint: LOCAL }, reason: 'process 7 is gone' } as const;
const unresponsive = { state: 'unresponsive', cloud: { endpoint: LOCAL } } as const;
const stopped = { state: 'stopped' } as const;

describe('which cloud a command talks to', () => {
  test('the local cloud that runs here, with stage local', () => {
    expect(chooseTarget({}, running, undefined)).toEqual({ kind: 'local', endpoint: LOCAL, stage: 'local' });
    expect(chooseTarget({ stage: 'local' }, running, undefined).kind).toBe('local');
  });

  test('it wins over AWS_ENDPOINT_URL, and loses to --endpoint', () => {
    expect(chooseTarget({}, running, 'http://other:1').kind).toBe('local');
    expect(chooseTarget({ endpoint: 'http://other:1/' }, running, undefined)).toEqual({
      kind: 'endpoint',
      endpoint: 'http://other:1',
      stage: 'dev',
    });
  });

  test('its own endpoint, named, is the local cloud with its certificate and keys', () => {
    expect(chooseTarget({ endpoint: `${LOCAL}/` }, running, undefined)).toEqual({
      kind: 'local',
      endpoint: LOCAL,
      stage: 'local',
    });
  });

  test('--stage dev and prod mean AWS, also while a local cloud runs', () => {
    expect(chooseTarget({ stage: 'dev' }, running, undefined)).toEqual({ kind: 'aws', stage: 'dev' });
    expect(chooseTarget({ stage: 'prod' }, stale, undefined)).toEqual({ kind: 'aws', stage: 'prod' });
    expect(chooseTarget({ stage: 'prod' }, stopped, 'http://other:1')).toEqual({
      kind: 'endpoint',
      endpoint: 'http://other:1',
      stage: 'prod',
    });
  });

  test('nothing runs here: AWS_ENDPOINT_URL, else AWS, stage dev', () => {
    expect(chooseTarget({}, stopped, 'http://other:1/').endpoint).toBe('http://other:1');
    expect(chooseTarget({ stage: 'local' }, stopped, 'http://other:1').stage).toBe('local');
    expect(chooseTarget({}, stopped, '')).toEqual({ kind: 'aws', stage: 'dev' });
    expect(chooseTarget({}, stopped, undefined)).toEqual({ kind: 'aws', stage: 'dev' });
  });

  test('a local cloud that was killed is never mistaken for AWS', () => {
    expect(() => chooseTarget({}, stale, undefined)).toThrow(/ended from outside: process 7 is gone/);
    expect(() => chooseTarget({}, stale, 'http://other:1')).toThrow(/ended from outside/);
    expect(() => chooseTarget({}, unresponsive, undefined)).toThrow(/does not answer/);
    expect(() => chooseTarget({ stage: 'local' }, stopped, undefined)).toThrow(/is not running/);
  });
});

test('the API of an emulator is below its endpoint, that of AWS has a name of its own', () => {
  const api = { url: 'https://abc.execute-api.eu-central-1.amazonaws.com/', id: 'abc' };
  expect(apiRoot(chooseTarget({}, running, undefined), api)).toBe(`${LOCAL}/_aws/execute-api/abc/$default`);
  expect(apiRoot(chooseTarget({}, stopped, undefined), api)).toBe(
    'https://abc.execute-api.eu-central-1.amazonaws.com',
  );
});

test('names for messages', () => {
  expect(nameOf({ kind: 'local', endpoint: LOCAL, stage: 'local' })).toBe(`the local cloud at ${LOCAL}`);
  expect(nameOf({ kind: 'endpoint', endpoint: 'http://o:1', stage: 'dev' })).toBe('http://o:1 (stage dev)');
  expect(nameOf({ kind: 'aws', stage: 'prod' })).toBe('AWS (stage prod)');
});
