import { afterEach, describe, expect, test, vi } from 'vitest';
import { asRun, runKey, stepItemKey } from '#core/items.ts';
import type { Item } from '#core/store.ts';
import { absent } from '#core/store.ts';
import { aDeadStep, aDoneStep } from '#test/examples.ts';
import { fakeConnection, RUN, view } from './fake-connection.ts';
import { commandBody, fakeQueues, letter } from './fake-letters.ts';

describe('start', () => {
  const started = { id: RUN, workflow: 'order', status: 'running', repeated: false };

  test('sends the input as it is, from the argument or standard input, under the given key', async () => {
    const start = vi.fn(async () => started);
    const { edow } = fakeConnection({ api: { start } });
    const { exitCode, out } = await edow(['start', 'order', '--input', '{"a": 1.0}', '--key', 'k 1']);
    expect(start).toHaveBeenLastCalledWith('order', 'k 1', '{"a": 1.0}');
    expect([exitCode, out.split('\n')[0]]).toEqual([0, RUN]);
    await edow(['start', 'order', '--input', '-', '--key', 'k 2'], { stdin: ' {"ä": 2}\n' });
    expect(start).toHaveBeenLastCalledWith('order', 'k 2', ' {"ä": 2}\n');
  });

  test('without a key every call has a new one, and says which', async () => {
    const keys: string[] = [];
    const start = async (_: string, key: string) => {
      keys.push(key);
      return started;
    };
    const { edow } = fakeConnection({ api: { start } });
    const { out } = await edow(['start', 'order', '--input', '{}', '--json']);
    await edow(['start', 'order', '--input', '{}']);
    expect(new Set(keys).size).toBe(2);
    expect(JSON.parse(out)).toEqual({ ...started, key: keys[0] });
  });

  test('a repeated request says that it is the same run', async () => {
    const { edow } = fakeConnection({ api: { start: async () => ({ ...started, repeated: true }) } });
    expect((await edow(['start', 'order', '--input', '{}'])).out).toContain('the same run');
  });
});

describe('watch: the exit code tells how it ended', () => {
  test.each([
    ['succeeded', 0],
    ['held', 3],
    ['failed', 3],
  ])('%s: %i', async (status, code) => {
    const { edow } = fakeConnection({ api: { run: async () => view({ status }) } });
    expect((await edow(['watch', RUN])).exitCode).toBe(code);
  });

  test('still running when the time is up: 4', async () => {
    const { edow } = fakeConnection({ api: { run: async () => view({ status: 'running' }) } });
    const { exitCode, out } = await edow(['watch', RUN, '--timeout', '1', '--json']);
    expect(exitCode).toBe(4);
    expect(JSON.parse(out)).toMatchObject({ id: RUN, status: 'running', timedOut: true });
  });

  test('it goes on asking until the run ends', async () => {
    const answers = [view({ status: 'running' }), view({ status: 'running' }), view()];
    const run = vi.fn(async () => answers.shift() ?? view());
    const { edow } = fakeConnection({ api: { run } });
    expect((await edow(['watch', RUN])).exitCode).toBe(0);
    expect(run).toHaveBeenCalledTimes(3);
  });
});

describe('show, runs, status', () => {
  test('show --json is the answer of the API', async () => {
    const { edow } = fakeConnection({ api: { run: async () => view() } });
    expect(JSON.parse((await edow(['show', RUN, '--json'])).out)).toEqual(view());
  });

  test('a held run says how to go on', async () => {
    const { edow } = fakeConnection({ api: { run: async () => view({ status: 'held' }) } });
    expect((await edow(['show', RUN])).out).toContain(`npx edow dlq replay --run ${RUN}`);
  });

  test('runs hands its filters on and shows the next page', async () => {
    const row = {
      id: RUN,
      workflow: 'order',
      status: 'held',
      execution: 1,
      startedAt: view().startedAt,
      updatedAt: view().updatedAt,
    };
    const runs = vi.fn(async () => ({ runs: [row], next: 'CURSOR', staleness: '' }));
    const { edow } = fakeConnection({ api: { runs } });
    const { out } = await edow([
      'runs',
      '--workflow',
      'order',
      '--status',
      'held',
      '--limit',
      '1',
      '--cursor',
      'C',
    ]);
    expect(runs).toHaveBeenCalledWith({ workflow: 'order', status: 'held', limit: 1, cursor: 'C' });
    expect(out).toContain(`${RUN}  order     held`);
    expect(out).toContain('More: npx edow runs --workflow order --status held --limit 1 --cursor CURSOR');
  });

  test('status counts dead letters and held runs, and says where to look', async () => {
    const runs = async ({ status }: { status?: string }) => ({
      runs: status === 'held' ? [{ ...view(), status: 'held' }] : [],
      ...(status === 'running' && { next: 'more' }),
      staleness: '',
    });
    const depths = async (url: string) => ({ waiting: url.startsWith('dlq/') ? 1 : 2, inFlight: 1 });
    const { edow } = fakeConnection({ api: { runs }, connection: { depths } });
    const { out } = await edow(['status', '--state-dir', '/nowhere', '--json']);
    expect(JSON.parse(out)).toMatchObject({
      queues: [
        { name: 'shipping', queue: { waiting: 2, inFlight: 1 }, dead: 2 },
        { name: 'project', dead: 2 },
      ],
      runs: { running: '100+', held: '1' },
    });
    expect((await edow(['status', '--state-dir', '/nowhere'])).out).toContain('npx edow dlq ls');
  });
});

describe('resume', () => {
  const runItem = (more: object): Item =>
    ({
      ...runKey(RUN),
      runId: RUN,
      workflow: 'order',
      definition: 'now',
      tenant: 'default',
      status: 'held',
      execution: 1,
      redrive: 0,
      resumes: 0,
      seq: 3,
      checks: 0,
      correlationId: RUN,
      traceparent: '00',
      startedAt: 1,
      updatedAt: 2,
      ...more,
    }) as Item;
  const dead = { ...stepItemKey(RUN, 'ShipOrder'), runId: RUN, stepKey: 'ShipOrder', status: 'dead' } as Item;

  async function given(more: object, start = vi.fn(async () => 'started' as const)) {
    const { edow, store } = fakeConnection({
      connection: { executions: { start, describe: async () => undefined } },
    });
    await store.put({ item: runItem(more), when: absent });
    await store.put({ item: dead, when: absent });
    return { edow, store, start };
  }

  test('starts the next execution and names the dead tasks that are tried again', async () => {
    const { edow, store, start } = await given({});
    const { exitCode, out } = await edow(['resume', RUN, '--json']);
    expect(exitCode).toBe(0);
    expect(JSON.parse(out)).toEqual({
      run: RUN,
      execution: 2,
      dead: [`${RUN}/ShipOrder/0`],
      undecided: [],
    });
    expect(start).toHaveBeenCalledWith(
      'arn:aws:states:eu-central-1:1:stateMachine:order',
      `${RUN}-2`,
      JSON.stringify({ runId: RUN, execution: 2 }),
    );
    const run = asRun((await store.get(runKey(RUN))) as Item);
    // An operator's resume is not one of the five automatic ones.
    expect([run.status, run.execution, run.resumes]).toEqual(['running', 2, 0]);
  });

  test('says which dead tasks no execution tries again', async () => {
    const { edow, store } = await given({});
    for (const [stepKey, more] of Object.entries({
      PayOut: { reason: 'unknown' },
      Charge: { reason: 'permanent', failure: { refused: true } },
    }))
      await store.put({
        item: { ...dead, ...stepItemKey(RUN, stepKey), stepKey, ...more } as Item,
        when: absent,
      });
    const { exitCode, out } = await edow(['resume', RUN]);
    expect(exitCode).toBe(0);
    expect(out).toContain(`1 dead task will be tried again: ${RUN}/ShipOrder/0\n`);
    expect(out).toContain(
      `2 dead tasks will not be tried again: each fails its state anew: ${RUN}/Charge/0, ${RUN}/PayOut/0\n`,
    );
    expect(out).toContain('npx edow task resolve');
  });

  test('a changed workflow is refused, and taken with --force', async () => {
    const { edow, start } = await given({ definition: 'then' });
    const refused = await edow(['resume', RUN]);
    expect(refused.exitCode).toBe(1);
    expect(refused.err).toMatch(/was changed since this run began \(then then, now now\)[\s\S]*--force/);
    expect(start).not.toHaveBeenCalled();
    expect((await edow(['resume', RUN, '--force'])).exitCode).toBe(0);
    expect(start).toHaveBeenCalledTimes(1);
  });

  test.each([
    ['running', /only a held run can be resumed[\s\S]*npx edow watch/],
    ['succeeded', /only a held run can be resumed[\s\S]*npx edow show/],
  ])('a run that is %s is left alone', async (status, text) => {
    const { edow, start } = await given({ status });
    const { exitCode, err } = await edow(['resume', RUN]);
    expect(exitCode).toBe(1);
    expect(err).toMatch(text);
    expect(start).not.toHaveBeenCalled();
  });

  test('an unknown run, a workflow that is not deployed', async () => {
    expect((await fakeConnection().edow(['resume', RUN])).err).toMatch(/there is no run 01M8/);
    const { edow } = await given({ workflow: 'gone' });
    expect((await edow(['resume', RUN])).err).toMatch(/workflow gone of run 01M8\S+ is not deployed/);
  });
});

describe('dlq', () => {
  test('replay sends, says what, and ls is empty afterwards', async () => {
    const queues = fakeQueues({ shipping: [letter(commandBody(RUN, 'ShipOrder'))] });
    const { edow } = fakeConnection({ queues });
    expect((await edow(['dlq', 'peek'])).out).toContain(`${RUN}/ShipOrder/0`);
    const dry = await edow(['dlq', 'replay', '--dry-run']);
    expect(dry.out).toContain('1 dead letter would be sent back, 0 left.');
    expect(queues.sent).toEqual([]);
    const { out } = await edow(['dlq', 'replay', '--pool', 'shipping', '--run', RUN]);
    expect(out).toContain(`sent shipping  ${RUN}/ShipOrder/0  replay 1`);
    expect(out).toContain('1 dead letter sent back, 0 left.');
    expect((await edow(['dlq', 'peek'])).out).toBe('No dead letters.\n');
  });

  test('peek looks into the dead letters of functions too', async () => {
    const ended = { 'detail-type': 'Step Functions Execution Status Change', detail: { name: `${RUN}-2` } };
    const aside = { requestPayload: ended };
    const close = [letter(JSON.stringify(ended)), letter(JSON.stringify(aside)), letter('{"detail":7}')];
    const { edow } = fakeConnection({ queues: fakeQueues({ close }) });
    const { entries } = JSON.parse((await edow(['dlq', 'peek', '--pool', 'close', '--json'])).out);
    expect(entries.map(({ run, reason }: { run?: string; reason: string }) => [run, reason])).toEqual([
      [RUN, 'not a task'],
      [RUN, 'not a task'],
      [undefined, 'unreadable'],
    ]);
  });

  test('peek says what to do with what it found: a left-over copy is nothing to send back', async () => {
    const [dead, done] = [letter(commandBody(RUN, 'Dead')), letter(commandBody(RUN, 'Done'))];
    const peek = async (...shipping: (typeof dead)[]) => {
      const { edow, connection } = fakeConnection({ queues: fakeQueues({ shipping }) });
      connection.lookUp = async (_, key) => (key === 'Done' ? aDoneStep() : aDeadStep());
      const { out } = await edow(['dlq', 'peek']);
      return [
        out.includes('npx edow dlq replay'),
        out.includes('npx edow dlq discard --because "left over"'),
      ];
    };
    expect(await peek(dead)).toEqual([true, false]);
    expect(await peek(done)).toEqual([false, true]);
    expect(await peek(dead, done)).toEqual([true, true]);
  });

  test('an unknown pool is wrong use', async () => {
    const { exitCode, err } = await fakeConnection().edow(['dlq', 'ls', '--pool', 'x']);
    expect(exitCode).toBe(2);
    expect(err).toContain('there is no pool or queue "x"; there are: shipping, project');
  });
});

describe('logs', () => {
  test('of one function, containing the run, in order of time', async () => {
    const logs = vi.fn(async (name: string) => [
      { time: name === 'fn-trigger' ? 2000 : 1000, text: JSON.stringify({ level: 'INFO', message: name }) },
    ]);
    const functions = { workflows: async () => new Map(), logs };
    const { edow } = fakeConnection({ connection: { functions } });
    const { out } = await edow(['logs', '--run', RUN, '--since', '2h']);
    expect(out).toBe(
      '00:00:01.000 INFO   worker-shipping  fn-shipping\n00:00:02.000 INFO   trigger          fn-trigger\n',
    );
    expect(logs).toHaveBeenCalledWith(
      'fn-shipping',
      expect.objectContaining({ containing: RUN, limit: 200 }),
    );
    logs.mockClear();
    await edow(['logs', 'trigger']);
    expect(logs.mock.calls.map(([name]) => name)).toEqual(['fn-trigger']);
    expect((await edow(['logs', 'x'])).exitCode).toBe(2);
  });
});

describe('deploy', () => {
  const none = ['--state-dir', '/nowhere'];
  const before = { ...process.env };
  afterEach(() => {
    process.env = { ...before }; // choosing an endpoint turns the whole process to it
  });

  test('to AWS: shows the plain command of the CDK, context included', async () => {
    const { edow } = fakeConnection();
    const { exitCode, out } = await edow([
      'deploy',
      '-c',
      'stage=prod',
      '-c',
      'downstreamUrl=https://d',
      '-c',
      'x=a b',
      ...none,
    ]);
    expect(exitCode).toBe(0);
    expect(out.split('\n')[1]).toBe(
      "  npx cdk deploy --all -c stage=prod -c downstreamUrl=https://d -c x='a b'",
    );
  });

  test('to an endpoint: the same with its address', async () => {
    const { edow } = fakeConnection();
    const { out } = await edow(['deploy', '--endpoint', 'http://127.0.0.1:4566/', '--json', ...none]);
    expect(JSON.parse(out)).toEqual({
      target: 'http://127.0.0.1:4566 (stage dev)',
      command:
        'AWS_ENDPOINT_URL=http://127.0.0.1:4566 AWS_ENDPOINT_URL_S3=http://127.0.0.1:4566 npx cdk deploy --all -c stage=dev',
    });
  });
});
