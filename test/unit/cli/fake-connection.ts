import type { Connection } from '#cli/connection.ts';
import type { Api, Pipeline } from '#cli/ports.ts';
import { runCommand } from '#cli/program.ts';
import type { RunView } from '#core/run-view.ts';
import { memoryPayloads } from '#test/memory/payloads.ts';
import { memoryStore } from '#test/memory/store.ts';
import { memoryViews } from '#test/memory/views.ts';
import { fakeIo } from './fake-io.ts';
import { fakeQueues, source } from './fake-letters.ts';

export const pipeline: Pipeline = {
  api: { url: 'https://api', id: 'api' },
  stateTable: 'state',
  viewsTable: 'views',
  payloadBucket: 'payload-bucket',
  eventsTopic: 'events',
  machines: { order: 'arn:aws:states:eu-central-1:1:stateMachine:order' },
  sources: [source('shipping'), source('project')],
  others: [{ name: 'close', dlqUrl: 'dlq/close' }],
  functions: { trigger: 'fn-trigger', 'worker-shipping': 'fn-shipping' },
};

export const CALLER = 'arn:aws:sts::123456789012:assumed-role/operator/ada';

/** A cloud in memory. Give what a test needs; all else refuses. */
export function fakeConnection(
  given: {
    readonly api?: Partial<Api>;
    readonly connection?: Partial<Connection>;
    readonly queues?: ReturnType<typeof fakeQueues>;
  } = {},
) {
  const store = memoryStore();
  const payloads = memoryPayloads();
  const views = memoryViews();
  const feeds = new Map<string, string>();
  const queues = given.queues ?? fakeQueues({});
  const refused = () => Promise.reject(new Error('not in this test'));
  const connection: { -readonly [name in keyof Connection]: Connection[name] } = {
    target: { kind: 'local', endpoint: 'https://127.0.0.1:4566', stage: 'local' },
    where: 'the local cloud at https://127.0.0.1:4566',
    stacks: {
      pipeline: async () => pipeline,
      states: async () => [{ name: 'edow-local-pipeline', status: 'CREATE_COMPLETE' }],
    },
    functions: {
      workflows: async () =>
        new Map([['order', { stateMachineArn: pipeline.machines['order'] ?? '', definition: 'now' }]]),
      logs: refused,
    },
    letters: queues.ports.letters,
    depths: async () => ({ waiting: 0, inFlight: 0 }),
    executions: { start: async () => 'started', describe: async () => undefined },
    pipeline: async () => pipeline,
    api: async () => ({ start: refused, run: refused, runs: refused, ...given.api }),
    store: async () => store,
    views: async () => views,
    lookUp: queues.ports.lookUp,
    caller: async () => CALLER,
    payloads: async () => payloads,
    feeds: {
      state: async (_, queueArn) => feeds.get(queueArn) ?? 'Enabled',
      turn: async (_, queueArn, on) => void feeds.set(queueArn, on ? 'Enabled' : 'Disabled'),
    },
    ...given.connection,
  };

  async function edow(argv: readonly string[], io: Parameters<typeof fakeIo>[0] = {}) {
    const fake = fakeIo(io);
    const exitCode = await runCommand(argv, fake.io, { connect: async () => connection });
    return { exitCode, out: fake.out(), err: fake.err() };
  }
  return { edow, store, views, connection, payloads, feeds, queues };
}

export const RUN = '01M8MJH2GRNCRTQZXW4FXC62VM';

export const view = (more: Partial<RunView> = {}): RunView => ({
  id: RUN,
  workflow: 'order',
  status: 'succeeded',
  execution: 1,
  correlationId: RUN,
  startedAt: '2026-11-29T20:00:00.000Z',
  updatedAt: '2026-11-29T20:00:09.000Z',
  steps: [],
  ...more,
});
