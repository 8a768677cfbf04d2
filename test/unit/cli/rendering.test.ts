import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { news } from '#cli/commands/watch.ts';
import { logLine, parsed } from '#cli/log-lines.ts';
import { cropped, screenOn } from '#cli/screen.ts';
import { duration, plural, table, timeOf, wrapped } from '#cli/text.ts';
import { timeline } from '#cli/timeline.ts';
import type { RunView } from '#core/run-view.ts';
import { fakeIo } from './fake-io.ts';

const ESCAPE = '\u001b[';
const plain = (_: unknown, text: string): string => text;

describe('screen', () => {
  const painted = (options: Parameters<typeof fakeIo>[0], json = false): string => {
    const { io, out } = fakeIo(options);
    const screen = screenOn(io, json);
    screen.print(screen.paint('red', 'dead'));
    screen.passing('half way');
    screen.print('end');
    return out();
  };

  test('colours and passing lines on a terminal', () => {
    const text = painted({ columns: 80 });
    expect(text).toContain(`${ESCAPE}31mdead`);
    expect(text).toContain('half way\r');
    expect(stripVTControlCharacters(text).endsWith('end\n')).toBe(true);
  });

  test('none piped, none with --json', () => {
    expect(painted({})).toBe('dead\nend\n');
    expect(painted({ columns: 80 }, true)).toBe('dead\nend\n');
  });

  test('NO_COLOR and TERM=dumb turn colours off', () => {
    expect(painted({ columns: 80, env: { NO_COLOR: '1' } })).not.toContain('31m');
    expect(painted({ columns: 80, env: { NO_COLOR: '' } })).toContain('31m');
    expect(painted({ columns: 80, env: { TERM: 'dumb' } })).toBe('dead\nend\n');
  });

  test('with --json progress goes to standard error', () => {
    const { io, out, err } = fakeIo();
    const screen = screenOn(io, true);
    screen.say('working');
    screen.emit({ a: 1 });
    expect(err()).toBe('working\n');
    expect(JSON.parse(out())).toEqual({ a: 1 });
  });

  test("the terminal's width is kept, a pipe has none", () => {
    expect(screenOn(fakeIo({ columns: 100 }).io, false).width).toBe(100);
    expect(screenOn(fakeIo().io, false).width).toBe(Number.POSITIVE_INFINITY);
    expect(cropped('abcdef', 4)).toBe('abc…');
    expect(cropped(`${ESCAPE}31mabc${ESCAPE}39m`, 3)).toContain('abc');
    expect(cropped(`a${ESCAPE}31mbcdef${ESCAPE}39mg`, 4)).toBe(`a${ESCAPE}31mbc${ESCAPE}39m…`);
  });
});

describe('small texts', () => {
  test.each([
    [0, '0.0 s'],
    [-5, '0.0 s'],
    [420, '0.4 s'],
    [59_940, '59.9 s'],
    [59_960, '1 min 0 s'],
    [200_000, '3 min 20 s'],
    [7_500_000, '2 h 5 min'],
    [273_600_000, '3 d 4 h'],
  ])('%i ms is %s', (milliseconds, text) => {
    expect(duration(milliseconds)).toBe(text);
  });

  test('times are UTC, counts have their plural', () => {
    expect(timeOf('2026-11-29T20:44:22.999Z')).toBe('2026-11-29 20:44:22');
    expect([plural(1, 'try', 'tries'), plural(2, 'try', 'tries'), plural(0, 'run')]).toEqual([
      '1 try',
      '2 tries',
      '0 runs',
    ]);
  });

  test('a table is as wide as its cells, colours not counted, cut at the width', () => {
    const rows = [
      ['a', `${ESCAPE}31mlong${ESCAPE}39m`, 'the last column'],
      ['bbb', 'x', 'y'],
    ];
    const lines = table(['N', 'C', 'LAST'], rows, 18).map(stripVTControlCharacters);
    expect(lines).toEqual(['N    C     LAST', 'a    long  the la…', 'bbb  x     y']);
  });

  test('words are wrapped', () => {
    expect(wrapped('one two three', 9, '  ')).toEqual(['  one two', '  three']);
  });
});

const RUN = '01M8MJH2GRNCRTQZXW4FXC62VM';
const at = (seconds: number): string => new Date(Date.UTC(2026, 10, 29, 20) + seconds * 1000).toISOString();
const step = (more: object) => ({
  step: 'ShipOrder',
  taskId: `${RUN}/ShipOrder/0`,
  type: 'shipping.parcel.ship',
  status: 'done',
  started: 1,
  enteredAt: at(1),
  deadline: at(600),
  endedAt: at(2),
  attempts: [],
  ...more,
});
const failedTry = {
  number: 1,
  outcome: 'failed' as const,
  class: 'retryable',
  error: 'Error',
  message: 'out of order',
  startedAt: at(1),
  endedAt: at(1.5),
};
const run = (more: Partial<RunView> = {}): RunView => ({
  id: RUN,
  workflow: 'order',
  status: 'succeeded',
  execution: 2,
  correlationId: RUN,
  startedAt: at(0),
  updatedAt: at(9),
  closedAt: at(9),
  steps: [],
  ...more,
});
const lines = (view: RunView, width = Number.POSITIVE_INFINITY) => timeline(view, at(30), plain, width);

describe('timeline of a run', () => {
  test('steps, tries with their errors, times, result and output', () => {
    const view = run({
      steps: [step({ started: 2, attempts: [failedTry], result: { shipmentId: 's' } })],
      output: { ok: true },
    });
    expect(lines(view)).toEqual([
      `Run ${RUN}  workflow order  succeeded`,
      '  started 2026-11-29 20:00:00 UTC, took 9.0 s, execution 2',
      '',
      '     +1.0 s ✓ ShipOrder        done      1.0 s      shipping.parcel.ship, 2 tries',
      '              try 1  +1.0 s  failed after 0.5 s  retryable  Error: out of order',
      '              try 2  +2.0 s  succeeded',
      '              result {"shipmentId":"s"}',
      '',
      '  output {"ok":true}',
    ]);
  });

  test('a held run: its cause, the dead task with reason and fingerprint', () => {
    const view = run({
      status: 'held',
      cause: { execution: 'FAILED', error: 'PermanentError', message: 'refused' },
      correlationId: 'shop-7',
      steps: [
        step({
          status: 'dead',
          reason: 'permanent',
          failure: { error: 'PermanentError', message: 'refused', fingerprint: 'f00' },
        }),
      ],
    });
    delete (view as { closedAt?: string }).closedAt;
    const text = lines(view).join('\n');
    expect(text).toContain('held since 2026-11-29 20:00:09 UTC');
    expect(text).toContain('correlation id shop-7');
    expect(text).toContain('the execution ended FAILED: PermanentError: refused');
    expect(text).toContain('gave up (permanent)  fingerprint f00');
  });

  test("a failed task's cause is not shown as JSON", () => {
    const cause = { execution: 'FAILED', error: 'TaskFailed', message: '{"taskId":"x"}' };
    expect(lines(run({ status: 'held', cause }))).toContain('  the execution ended FAILED: TaskFailed');
  });

  test('a running one counts until now; a lost try has no times', () => {
    const { closedAt: _, ...open } = run({
      status: 'running',
      steps: [
        step({
          status: 'claimed',
          endedAt: undefined,
          started: 2,
          attempts: [{ number: 1, outcome: 'lost' }],
        }),
        step({ status: 'ready', started: 0, endedAt: undefined }),
      ],
    });
    const text = lines(open).join('\n');
    expect(text).toContain('running for 30.0 s');
    expect(text).toContain('try 1  lost: its worker never came back');
    expect(text).toContain('not begun');
    expect(text).toContain('29.0 s');
  });

  test('nothing is wider than the terminal', () => {
    const view = run({ steps: [step({ result: { long: 'x'.repeat(500) } })], output: 'y'.repeat(500) });
    for (const line of lines(view, 60)) expect(line.length).toBeLessThanOrEqual(60);
  });

  test('what is new is told once, by the same text', () => {
    const view = run({
      steps: [step({ started: 2, attempts: [failedTry, { number: 2, outcome: 'lost' }] })],
    });
    expect(news(view)).toEqual([
      '     +1.0 s  ShipOrder entered',
      '     +1.5 s  ShipOrder try 1 failed: Error: out of order',
      '             ShipOrder try 2 was lost',
      '     +2.0 s  ShipOrder done',
    ]);
    expect(news(view)).toEqual(news(structuredClone(view)));
  });
});

describe('log lines', () => {
  const time = Date.UTC(2026, 10, 29, 20, 44, 22, 393);
  const entry = (fields: object) => ({
    time,
    text: JSON.stringify({ level: 'WARN', message: 'again', ...fields }),
  });

  test('our own: level, stage, message and fields; ids only where they are needed', () => {
    const line = logLine(
      'worker',
      entry({ run: RUN, task: 't', attempt: 1, trace: '00-1', stage: 'worker' }),
      plain,
    );
    expect(line).toBe('20:44:22.393 WARN   worker  again  task=t attempt=1');
    expect(logLine('close', entry({ run: RUN }), plain)).toContain(`run=${RUN}`);
  });

  test("the platform's: as they are, on one line", () => {
    expect(logLine('worker', { time, text: 'REPORT\n  Duration: 3 ms' }, plain)).toBe(
      '20:44:22.393       worker  REPORT Duration: 3 ms',
    );
    expect(parsed('{"type":"platform.start"}')).toBeUndefined();
    expect(parsed('7')).toBeUndefined();
  });
});
