import { describe, expect, test } from 'vitest';
import type { Connect } from '#cli/connection.ts';
import { runCommand } from '#cli/program.ts';
import { fakeIo } from './fake-io.ts';

const neverConnect: Connect = () => Promise.reject(new Error('nothing may be called for wrong use'));

async function edow(...argv: string[]) {
  const { io, out, err } = fakeIo();
  const exitCode = await runCommand(argv, io, { connect: neverConnect });
  return { exitCode, out: out(), err: err() };
}

describe('wrong use: one line on what is wrong, one with the right call, exit code 2', () => {
  const ID = '01M8MJH2GRNCRTQZXW4FXC62VM';
  test.each<[string, string[], string, string]>([
    [
      'unknown command',
      ['statsu'],
      "unknown command 'statsu' (Did you mean status?)",
      'See: npx edow --help',
    ],
    ['unknown flag', ['--foo'], "unknown option '--foo'", 'See: npx edow --help'],
    ['unknown flag of a command', ['runs', '--jsn'], "unknown option '--jsn'", 'Right: npx edow runs'],
    ['missing argument', ['show'], "missing required argument 'run'", 'Right: npx edow show 0'],
    [
      'malformed run id',
      ['watch', 'abc'],
      "'abc' is no run. A run id has 26 characters",
      'Right: npx edow watch',
    ],
    ['too many arguments', ['down', 'now'], "too many arguments for 'down'", 'Right: npx edow down'],
    [
      'missing flag',
      ['start', 'order'],
      "required option '--input <file|-|json>'",
      'Right: npx edow start order',
    ],
    [
      'group without command',
      ['dlq'],
      'edow dlq needs one of: ls, show, peek, replay',
      'See: npx edow dlq --help',
    ],
    ['unknown command of a group', ['dlq', 'lss'], "unknown command 'lss'", 'See: npx edow dlq --help'],
    [
      'rate of zero',
      ['dlq', 'replay', '--rate', '0'],
      'a number from 0.01 to 1000',
      'Right: npx edow dlq replay',
    ],
    ['fraction as limit', ['runs', '--limit', '1.5'], 'a whole number from 1 to 100', 'Right: npx edow runs'],
    ['limit too high', ['runs', '--limit', '101'], 'a whole number from 1 to 100', 'Right: npx edow runs'],
    [
      'unknown status',
      ['runs', '--status', 'dead'],
      'running, held, succeeded, failed',
      'Right: npx edow runs',
    ],
    [
      'unknown stage',
      ['status', '--stage', 'x'],
      'Allowed choices are local, dev, prod',
      'Right: npx edow status',
    ],
    [
      'endpoint is no URL',
      ['status', '--endpoint', 'host:1'],
      'an http or https URL',
      'Right: npx edow status',
    ],
    ['port too high', ['up', '--port', '65536'], 'from 1 to 65535', 'Right: npx edow up'],
    ['span without unit', ['logs', '--since', '10'], 'a number and s, m, h or d', 'Right: npx edow logs'],
    ['task id', ['dlq', 'replay', '--task', ID], 'A task id is run/step/index', 'Right: npx edow dlq replay'],
    ['context entry', ['deploy', '-c', 'stage'], 'name=value', 'Right: npx edow deploy'],
    [
      'stage by context',
      ['deploy', '-c', 'stage=x'],
      'stage is "x"; allowed: local, dev, prod',
      'Right: npx edow deploy',
    ],
    [
      'no such input file',
      ['start', 'order', '--input', 'no.json'],
      'no.json cannot be read (ENOENT)',
      'Name a file',
    ],
  ])('%s', async (_, argv, problem, right) => {
    const { exitCode, out, err } = await edow(...argv);
    const [first = '', second = '', ...rest] = err.trimEnd().split('\n');
    expect(first).toMatch(/^edow: /);
    expect(first).toContain(problem);
    expect(second.trim()).toContain(right);
    expect(rest).toEqual([]);
    expect(out).toBe('');
    expect(exitCode).toBe(2);
  });

  test('with --json the error is JSON too', async () => {
    const { exitCode, err } = await edow('show', 'abc', '--json');
    expect(exitCode).toBe(2);
    expect(JSON.parse(err)).toEqual({
      error: {
        code: 'usage',
        message: expect.stringContaining("'abc' is no run"),
        nextStep: expect.stringContaining('npx edow show'),
      },
    });
  });
});

describe('help', () => {
  test('without a command: the list of commands, exit code 0', async () => {
    const { exitCode, out, err } = await edow();
    expect(exitCode).toBe(0);
    expect(err).toBe('');
    for (const command of [
      'demo',
      'up',
      'down',
      'status',
      'deploy',
      'start',
      'show',
      'runs',
      'watch',
      'resume',
      'dlq',
      'logs',
    ])
      expect(out).toMatch(new RegExp(`^  ${command}\\b`, 'm'));
  });

  test.each([
    'demo',
    'up',
    'down',
    'status',
    'deploy',
    'start',
    'show',
    'runs',
    'watch',
    'resume',
    'dlq ls',
    'dlq show',
    'dlq peek',
    'dlq replay',
    'logs',
  ])('edow %s --help has examples and --json', async (command) => {
    const { exitCode, out } = await edow(...command.split(' '), '--help');
    expect(exitCode).toBe(0);
    expect(out).toContain('--json');
    expect(out).toMatch(new RegExp(`Examples:\\n  (npx|cat .*npx) edow ${command}`));
  });
});

test('Ctrl-C: what is under way is finished, the person is told, the code is 130', async () => {
  const { io, err } = fakeIo();
  let interrupt: (() => Promise<number>) | undefined;
  const onInterrupt = (act: () => Promise<number>): void => {
    interrupt = act;
  };
  const never: Connect = () => new Promise(() => {});
  void runCommand(['status', '--stage', 'prod'], io, { connect: never, onInterrupt });
  expect(await interrupt?.()).toBe(130);
  expect(err()).toContain('edow: stopped');
});
