/** H35: each bundle is small, and loads and answers alone in an empty folder, on the Node that its runtime has. */
import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { bundle } from '#constructs/bundle.ts';
import { ENV } from '#core/env-names.ts';
import { ROOT } from './edow-app.ts';

const run = promisify(execFile);
const MAX_BYTES = 300_000;
/** CPU time of the import: the wall clock tells of the machine's other work, too. */
const MAX_LOAD_MS = 2000;

const entries = globSync('lambdas/*.ts', { cwd: ROOT }).sort();
const folder = mkdtempSync(join(tmpdir(), 'edow-bundles-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Values that parse; no cloud answers at the endpoint, and no call may hang on that. */
const ENVIRONMENT: Record<string, string> = {
  ...Object.fromEntries(Object.values(ENV).map((name) => [name, 'x'])),
  [ENV.workflows]: '{}',
  [ENV.tenants]: '{}',
  [ENV.workQueues]: '{}',
  [ENV.deadLetterQueues]: '{}',
  [ENV.projectQueue]: 'https://sqs.eu-west-1.amazonaws.com/1/project',
  [ENV.batchConcurrency]: '10',
  [ENV.logLevel]: 'info',
  [ENV.downstreamUrl]: '',
  [ENV.workQueue]: 'https://sqs.us-east-1.amazonaws.com/123456789012/work',
  [ENV.retryQueue]: 'https://sqs.us-east-1.amazonaws.com/123456789012/retry',
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'none',
  AWS_SECRET_ACCESS_KEY: 'none',
  AWS_ENDPOINT_URL: 'http://127.0.0.1:9',
  AWS_LAMBDA_FUNCTION_NAME: 'bundle-test',
};

/** Imports the bundle and hands it nothing at all, then an empty batch; tells what came of it. */
const PROBE = `
const before = process.cpuUsage();
const { handler } = await import('./index.mjs');
const { user, system } = process.cpuUsage(before);
const context = { awsRequestId: 'r', functionName: 'f', getRemainingTimeInMillis: () => 5000 };
const answer = async (event) => {
  try { return { returned: await handler(event, context) ?? null }; }
  catch (error) { return { threw: error.name }; }
};
const answers = [await answer({}), await answer({ Records: [] })];
console.log('PROBE' + JSON.stringify({ loadMs: Math.round((user + system) / 1000), type: typeof handler, answers }));
process.exit(0);
`;

/** What comes of no event of theirs; the others have no records to work on. No cloud answers a call. */
const HANDLED: Readonly<Record<string, object>> = {
  close: { returned: null },
  dispatch: { threw: 'DispatchFailed' },
  status: { returned: expect.objectContaining({ statusCode: 403 }) },
  sweep: { threw: 'PortUnavailable' },
  trigger: { returned: expect.objectContaining({ statusCode: 403 }) },
};

describe('bundles', () => {
  it('are those of 8 stages and 5 pools', () => {
    expect(entries).toHaveLength(13);
  });

  it.each(entries)('%s is small, loads alone and survives bad input', async (entry) => {
    const alone = join(folder, basename(entry, '.ts'));
    bundle(join(ROOT, entry), alone);
    writeFileSync(join(alone, 'probe.mjs'), PROBE);
    const bytes = statSync(join(alone, 'index.mjs')).size;
    const { stdout, stderr } = await run(process.execPath, ['probe.mjs'], { cwd: alone, env: ENVIRONMENT });
    const probe = JSON.parse(/^PROBE(.*)$/m.exec(stdout)?.[1] ?? '{}');
    console.log(`${entry}: ${bytes} bytes, loads in ${probe.loadMs} ms of CPU`);
    expect(probe.type).toBe('function');
    const answered = HANDLED[basename(entry, '.ts')] ?? { returned: { batchItemFailures: [] } };
    expect(probe.answers).toEqual([answered, answered].map((one) => expect.objectContaining(one)));
    expect(`${stdout}${stderr}`).not.toMatch(/Dynamic require|Cannot find|ERR_MODULE|UnhandledPromise/);
    expect(bytes).toBeLessThanOrEqual(MAX_BYTES);
    expect(probe.loadMs).toBeLessThan(MAX_LOAD_MS);
  });

  it('run on the Node of the runtime in the template', () => {
    expect(process.versions.node).toMatch(/^24\./);
  });
});
