/** The sweeper's entry point: both sweeps in one call, each with its share of the time, and what they tell. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '#adapters/system.ts';
import { closer } from '#core/close.ts';
import { FIRST_CHECK_MS } from '#core/run-changes.ts';
import { ENDED_MS, LETTERS_MS, sweepEntry } from '#runtime/sweep-entry.ts';
import { aDeadStep, aRun, DEPLOYED, seed, T0 } from '#test/examples.ts';
import { memoryPayloads } from '#test/memory/payloads.ts';
import { memoryDeadLetters, memoryRetelling } from '#test/memory/queues.ts';
import { memoryAnswers, memoryExecutions } from '#test/memory/state-machines.ts';
import { memoryStore } from '#test/memory/store.ts';
import { memoryTopic } from '#test/memory/topic.ts';
import { memoryViews } from '#test/memory/views.ts';
import { lambdaContext, printed } from '#test/pool-fixtures.ts';

/** One held run that is due, one that has ended, and a letter of nobody. */
async function scene() {
  vi.useFakeTimers({ toFake: ['Date'], now: T0 + FIRST_CHECK_MS });
  onTestFinished(() => void vi.useRealTimers());
  const log = printed();
  const store = memoryStore();
  const held = aRun({ status: 'held', cause: { execution: 'FAILED' } });
  const other = 'RUN#01ARZ3NDEKTSV4RRFFQ69G5FB0';
  await seed(store, held, aDeadStep());
  await seed(
    store,
    aRun({ PK: other, runId: other.slice(4), status: 'failed', closedAt: T0, openShard: 'ENDED#0' }),
  );
  const letters = memoryDeadLetters(systemClock, ['inventory']);
  letters.add('inventory', 'no JSON');
  const payloads = memoryPayloads();
  const answers = memoryAnswers();
  answers.open('token-1');
  const sweep = sweepEntry({
    store,
    payloads,
    clock: systemClock,
    executions: memoryExecutions(),
    answers,
    commands: memoryTopic(),
    queues: { waiting: async () => 0 },
    closer: closer({ store, payloads, clock: systemClock }),
    views: memoryViews(),
    retelling: memoryRetelling({ waiting: () => 0 }),
    letters,
    workflows: new Map([['order', DEPLOYED]]),
    deployment: 'state-1',
  });
  return { log, sweep: (remainingMs: number) => sweep({}, lambdaContext(remainingMs) as never) };
}

test('tells what both sweeps found, and counts held runs by deployment', async () => {
  const { log, sweep } = await scene();
  await sweep(50_000);
  const entries = log.entries();
  expect(entries.filter(({ message }) => message === 'sweep')).toMatchObject([
    {
      stage: 'sweep',
      level: 'INFO',
      checked: 1,
      failed: 0,
      held: 1,
      ended: 1,
      left: false,
      died: 0,
      strange: 1,
    },
  ]);
  expect(entries.filter((entry) => '_aws' in entry)).toMatchObject([{ HeldRuns: 1, StateTable: 'state-1' }]);
});

test.each([
  ['an ended run', ENDED_MS, { ended: 1, strange: 1 }],
  ['no ended run, and letters', ENDED_MS - 1, { ended: 0, strange: 1 }],
  ['letters', LETTERS_MS, { ended: 0, strange: 1 }],
  ['nothing but open runs', LETTERS_MS - 1, { ended: 0, strange: 0 }],
])('begins %s with %i ms left', async (_what, remainingMs, begun) => {
  const { log, sweep } = await scene();
  await sweep(remainingMs);
  const [told] = log.entries().filter(({ message }) => message === 'sweep');
  expect(told).toMatchObject({ checked: 1, held: 1, ...begun });
});
