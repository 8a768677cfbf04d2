/** docs/openapi.json is what the code answers: made of its schemas, and held against the answers of its entry points. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { APIGatewayProxyEventV2, Context } from 'aws-lambda';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import * as z from 'zod/mini';
import { PortUnavailable } from '#core/errors.ts';
import type { Views } from '#core/ports.ts';
import { acceptedRun, problem, run, runList } from '#runtime/api-schemas.ts';
import type { HttpAnswer, HttpEvent } from '#runtime/http.ts';
import { httpEntry } from '#runtime/http-entry.ts';
import { openApi, PROBLEMS } from '#runtime/openapi.ts';
import { statusHttp } from '#runtime/status-http.ts';
import { MAX_BODY_BYTES, triggerHttp } from '#runtime/trigger-http.ts';
import { aDeadStep, aDoneStep, aRun, aStep, DEPLOYED, MINUTE, RUN_ID, seed, T0 } from '#test/examples.ts';
import { manualClock, seededIds } from '#test/memory/determinate.ts';
import { memoryPayloads } from '#test/memory/payloads.ts';
import { memoryExecutions } from '#test/memory/state-machines.ts';
import { memoryStore } from '#test/memory/store.ts';
import { memoryViews } from '#test/memory/views.ts';
import { contracts } from '#workflows/contracts.ts';

const require = createRequire(import.meta.url);
const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const committed = JSON.parse(read('docs/openapi.json'));

const CALLER = 'arn:aws:sts::123456789012:assumed-role/shop/session';
const ORDER = {
  orderId: 'o-1',
  customer: { id: 'c-1' },
  lines: [{ sku: 'lamp', quantity: 2, unitPriceCents: 1999 }],
};

beforeAll(() => {
  // Entry points log; what they log is not asked here.
  const quiet = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  return () => quiet.mockRestore();
});

describe('docs/openapi.json', () => {
  test('is up to date: `npm run openapi` writes it', () => {
    expect(committed).toEqual(
      JSON.parse(JSON.stringify(openApi(contracts, JSON.parse(read('package.json')).version))),
    );
  });

  test('describes every workflow that the API can start', () => {
    const paths = contracts.map(({ name }) => `/workflows/${name}/runs`);
    expect(contracts.length).toBeGreaterThan(0);
    expect(Object.keys(committed.paths)).toEqual([...paths, '/runs', '/runs/{id}']);
  });

  test('passes the linter, which sees a fault where there is one', { timeout: 60_000 }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'edow-openapi-'));
    const lint = (document: object): number | null => {
      const file = join(folder, 'openapi.json');
      writeFileSync(file, JSON.stringify(document));
      const { status } = spawnSync(
        process.execPath,
        [require.resolve('@redocly/cli/bin/cli.js'), 'lint', '--extends=recommended-strict', file],
        {
          cwd: folder,
          env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
        },
      );
      return status;
    };
    try {
      expect(lint(committed)).toBe(0);
      expect(lint({ ...committed, security: [{ nobody: [] }] })).toBe(1);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

/** Both entry points over one set of books in memory. */
function api({
  tenants = {},
  views = memoryViews(),
}: {
  tenants?: Record<string, string>;
  views?: Views;
} = {}) {
  const clock = manualClock();
  const store = memoryStore();
  const payloads = memoryPayloads();
  const executions = memoryExecutions();
  const shared = { store, payloads, tenants: new Map(Object.entries(tenants)) };
  const trigger = httpEntry(
    'trigger',
    triggerHttp({
      ...shared,
      executions,
      clock,
      ids: seededIds(clock),
      contracts: new Map(contracts.map((contract) => [contract.name, contract])),
      deployed: new Map([['order', DEPLOYED]]),
    }),
  );
  const status = httpEntry('status', statusHttp({ ...shared, views }));
  const answerOf = async (entry: typeof trigger, event: Partial<APIGatewayProxyEventV2>) => {
    const signed = {
      version: '2.0',
      headers: {},
      requestContext: { authorizer: { iam: { userArn: CALLER } } },
      ...event,
    } as unknown as HttpEvent;
    const context = { awsRequestId: 'r', getRemainingTimeInMillis: () => 10_000 } as Context;
    const answer = (await entry(signed, context as never)) as HttpAnswer;
    return { ...answer, body: JSON.parse(answer.body ?? '') };
  };
  const start = (more: Partial<APIGatewayProxyEventV2> = {}) =>
    answerOf(trigger, {
      pathParameters: { name: 'order' },
      headers: { 'idempotency-key': 'k-1' },
      body: JSON.stringify(ORDER),
      ...more,
    });
  const show = (id: string) => answerOf(status, { pathParameters: { id } });
  const list = (query: Record<string, string> = {}) => answerOf(status, { queryStringParameters: query });
  return { store, payloads, executions, views, start, show, list };
}

/** Parses, and nothing is there that the schema does not know. */
function expectShape(schema: z.core.$ZodType, body: unknown): void {
  expect(z.parse(schema, body)).toEqual(body);
}

describe('what the entry points answer has the shape that is documented', () => {
  test('an accepted run, the first time and again', async () => {
    const { start } = api();
    for (const repeated of [false, true]) {
      const { statusCode, headers, body } = await start();
      expect(statusCode).toBe(202);
      expectShape(acceptedRun, body);
      expect(body.repeated).toBe(repeated);
      expect(headers).toMatchObject({ location: `/runs/${body.id}` });
    }
  });

  test.each([
    ['running, with a try that was lost', aRun(), [aStep({ status: 'claimed', fence: 2, started: 2 })]],
    [
      'held, with a dead task and its tries',
      aRun({ status: 'held', cause: { execution: 'FAILED', error: 'TaskFailed', message: 'no answer' } }),
      [
        aDoneStep({ stepKey: 'First', SK: 'STEP#First' }),
        aDeadStep({
          attempts: [
            {
              fence: 1,
              startedAt: T0,
              endedAt: T0 + MINUTE,
              class: 'retryable',
              name: 'Timeout',
              message: 'no answer',
              worker: 'v1',
            },
          ],
        }),
      ],
    ],
    [
      'succeeded, with results and output',
      aRun({ status: 'succeeded', output: '{"ok":true}', closedAt: T0 + MINUTE }),
      [aDoneStep()],
    ],
    ['failed', aRun({ status: 'failed', cause: { execution: 'ABORTED' }, closedAt: T0 }), []],
  ])('a run that is %s', async (_what, item, steps) => {
    const { store, show } = api();
    await seed(store, { ...item, tenant: 'default' }, ...steps);
    const { statusCode, body } = await show(RUN_ID);
    expect(statusCode).toBe(200);
    expectShape(run, body);
    expect(body).toMatchObject({ id: RUN_ID, status: item.status });
    expect(body.steps).toHaveLength(steps.length);
  });

  test('a page of the list, with and without a next one', async () => {
    const { views, list } = api();
    for (const last of ['A', 'B', 'C'])
      await views.putRunRow({
        tenant: 'default',
        runId: `${RUN_ID.slice(0, 25)}${last}`,
        workflow: 'order',
        status: 'running',
        execution: 1,
        startedAt: T0,
        updatedAt: T0,
        seq: 1,
      });
    const first = await list({ limit: '2' });
    expectShape(runList, first.body);
    expect(first.body.runs).toHaveLength(2);
    const second = await list({ limit: '2', cursor: first.body.next });
    expectShape(runList, second.body);
    expect(second.body).not.toHaveProperty('next');
    expect(second.body.runs).toHaveLength(1);
  });
});

const broken = (error: Error): Views => ({ ...memoryViews(), listRuns: () => Promise.reject(error) });

type Answer = Awaited<ReturnType<ReturnType<typeof api>['show']>>;

/** Each refusal that there is, provoked. */
const REFUSALS: readonly (readonly [code: string, path: string, () => Promise<Answer>])[] = [
  ['body_missing', 'start', () => api().start({ body: '' })],
  ['body_not_json', 'start', () => api().start({ body: '{' })],
  ['body_not_base64', 'start', () => api().start({ body: '***', isBase64Encoded: true })],
  ['body_not_utf8', 'start', () => api().start({ body: '/w==', isBase64Encoded: true })],
  ['body_unsafe', 'start', () => api().start({ body: '{"orderId": 12345678901234567890}' })],
  ['body_too_large', 'start', () => api().start({ body: `"${'x'.repeat(MAX_BODY_BYTES)}"` })],
  ['idempotency_key', 'start', () => api().start({ headers: {} })],
  ['unknown_workflow', 'start', () => api().start({ pathParameters: { name: 'nothing' } })],
  ['input_invalid', 'start', () => api().start({ body: JSON.stringify({ ...ORDER, lines: [] }) })],
  ['no_tenant', 'start', () => api({ tenants: { 'arn:aws:iam::1:role/x': 'x' } }).start()],
  [
    'key_reused',
    'start',
    async () => {
      const { start } = api();
      await start();
      return start({ body: JSON.stringify({ ...ORDER, orderId: 'o-2' }) });
    },
  ],
  [
    'start_throttled',
    'start',
    () => {
      const { executions, start } = api();
      executions.throttle(true);
      return start();
    },
  ],
  ['bad_query', '/runs', () => api().list({ limit: '101' })],
  ['unknown_run', '/runs/{id}', () => api().show('nothing')],
  ['internal', '/runs', () => api({ views: broken(new Error('lost')) }).list()],
  ['not_available', '/runs', () => api({ views: broken(new PortUnavailable('busy')) }).list()],
];

describe('refusals', () => {
  test.each(REFUSALS)('%s is a problem of its documented status', async (code, path, provoke) => {
    const answer = await provoke();
    const status = answer.statusCode ?? 0;
    expectShape(problem, answer.body);
    expect(answer.body).toMatchObject({ type: `urn:edow:problem:${code}`, status });
    expect(answer.headers?.['content-type']).toBe('application/problem+json');
    expect(PROBLEMS[status]).toContain(code);
    const operation =
      path === 'start' ? committed.paths['/workflows/order/runs'].post : committed.paths[path].get;
    expect(Object.keys(operation.responses)).toContain(String(status));
    const documented = committed.components.responses[`Problem${status}`];
    expect(documented.description).toContain(`\`${code}\``);
    if (documented.headers) expect(Number(answer.headers?.['retry-after'])).toBeGreaterThan(0);
  });

  test('all codes of the sources are documented, and each is provoked here', () => {
    const sources = ['http', 'trigger-http', 'status-http']
      .map((name) => read(`lib/runtime/${name}.ts`))
      .join('\n');
    const written = [...sources.matchAll(/new Problem\(\s*\d+,\s*'(\w+)'/g)].map(([, code]) => code);
    const documented = Object.values(PROBLEMS).flat();
    expect([...new Set(written)].sort()).toEqual([...documented].sort());
    expect([...REFUSALS.map(([code]) => code)].sort()).toEqual([...documented].sort());
  });
});

describe('documented limits are the real ones', () => {
  const { parameters } = committed.paths['/runs'].get;
  const schemaOf = (name: string) => parameters.find((one: { name: string }) => one.name === name).schema;
  const { maxLength } = committed.components.parameters.IdempotencyKey.schema;

  test('page size', async () => {
    const { minimum, maximum } = schemaOf('limit');
    for (const [limit, expected] of [
      [minimum, 200],
      [maximum, 200],
      [minimum - 1, 400],
      [maximum + 1, 400],
    ] as const)
      expect((await api().list({ limit: String(limit) })).statusCode).toBe(expected);
  });

  test('statuses', async () => {
    for (const status of schemaOf('status').enum) expect((await api().list({ status })).statusCode).toBe(200);
    expect((await api().list({ status: 'done' })).statusCode).toBe(400);
  });

  test('length of an Idempotency-Key', async () => {
    const withKey = (key: string) => api().start({ headers: { 'idempotency-key': key } });
    expect((await withKey('k'.repeat(maxLength))).statusCode).toBe(202);
    expect((await withKey('k'.repeat(maxLength + 1))).statusCode).toBe(400);
    expect((await withKey('a,b')).statusCode).toBe(400);
  });
});
