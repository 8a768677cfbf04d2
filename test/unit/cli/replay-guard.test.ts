import { describe, expect, test } from 'vitest';
import type { LetterCopy } from '#cli/ports.ts';
import { replay } from '#cli/replay.ts';
import type { Failure, StepItem } from '#core/items.ts';
import { commandBody, fakeQueues, letter, source } from './fake-letters.ts';

const A = '01M8MJH2GRNCRTQZXW4FXC62VA';
const plan = {
  sources: [source('shipping')],
  filter: {},
  rate: 100,
  burst: 1,
  dryRun: false,
  waitMs: 60_000,
};

/**
 * So many dead tasks with a letter each. @param becomes of the task with that number once its copy was sent;
 * `undefined`: nothing, ever
 */
function scene(count: number, becomes: (index: number) => Partial<StepItem> | undefined) {
  const step = (index: number) => `Step${index}`;
  const tasks: Record<string, Partial<StepItem>> = {};
  for (let index = 0; index < count; index += 1)
    tasks[`${A}/${step(index)}`] = {
      runId: A,
      stepKey: step(index),
      status: 'dead',
      deaths: 2,
      reason: 'exhausted',
    };
  const onSent = ({ body }: LetterCopy): void => {
    const { step: key } = JSON.parse(body) as { step: string };
    const outcome = becomes(Number(key.slice(4)));
    if (outcome !== undefined) tasks[`${A}/${key}`] = { ...tasks[`${A}/${key}`], ...outcome };
  };
  const letters = Array.from({ length: count }, (_, index) => letter(commandBody(A, step(index))));
  return { tasks, letters, ...fakeQueues({ shipping: letters }, { tasks, onSent }) };
}

const done = { status: 'done' } as const;
const diedAgain = { deaths: 3, failure: { name: 'PermanentError' } as Failure } as const;

describe('a canary', () => {
  test('that is done lets the rest go', async () => {
    const { ports, left } = scene(12, () => done);
    const report = await replay(ports, { ...plan, canary: 3 });
    expect(report.sent).toHaveLength(12);
    expect(report.stopped).toBeUndefined();
    expect(report.outcomes).toEqual({ done: 3, dead: 0, open: 9, examples: [] });
    expect(left('shipping')).toEqual([]);
  });

  test('that dies again stops: the rest stays, seen by others at once', async () => {
    const { ports, left, hidden, sent } = scene(25, (index) => (index === 1 ? diedAgain : done));
    const report = await replay(ports, { ...plan, canary: 3 });
    expect(sent).toHaveLength(3);
    expect(report.stopped).toBe(`1 of the first 3 died again: ${A}/Step1/0 (PermanentError)`);
    expect(report.outcomes).toMatchObject({ done: 2, dead: 1, open: 0 });
    expect(left('shipping')).toHaveLength(22);
    expect([...left('shipping')].filter((id) => hidden.has(id))).toEqual([]);
  });

  test('without an outcome in time stops too', async () => {
    const { ports, sent } = scene(5, (index) => (index === 0 ? done : { status: 'retrying' }));
    const report = await replay(ports, { ...plan, canary: 2, waitMs: 30_000 });
    expect(report.stopped).toBe('1 of the first 2 had no outcome within 30.0 s');
    expect(sent).toHaveLength(2);
  });

  test('a death from before the copy is none of its own: it waits for the next one', async () => {
    const { ports, tasks } = scene(1, () => undefined);
    let looks = 0;
    const lookUp = async (run: string, step: string) => {
      looks += 1;
      if (looks === 6) tasks[`${run}/${step}`] = { ...tasks[`${run}/${step}`], ...done };
      return ports.lookUp(run, step);
    };
    const report = await replay({ ...ports, lookUp }, { ...plan, canary: 1 });
    expect([report.stopped, report.outcomes?.done, looks]).toEqual([undefined, 1, 6]);
  });

  test('only dead tasks say anything about a fix: until it is passed nothing else is sent', async () => {
    const { ports, tasks, letters, sent } = scene(4, () => done);
    tasks[`${A}/Step0`] = { ...tasks[`${A}/Step0`], ...done };
    const report = await replay(ports, { ...plan, canary: 1 });
    expect(sent.map(({ of }) => of)).toEqual(letters.slice(1).map(({ messageId }) => messageId));
    expect(report.left).toBe(1);
  });

  test('larger than what is there is judged at the end', async () => {
    const { ports } = scene(2, () => diedAgain);
    const report = await replay(ports, { ...plan, canary: 5 });
    expect(report.stopped).toMatch(/^2 of the first 2 died again/);
  });

  test('a cancelled task is over: its copy is acknowledged', async () => {
    const { ports } = scene(2, () => ({ status: 'cancelled' }));
    expect((await replay(ports, { ...plan, canary: 1 })).stopped).toBeUndefined();
  });
});

describe('a failure ratio', () => {
  test('below it all are sent, and the end waits for what is open', async () => {
    const { ports } = scene(30, (index) => (index % 10 === 0 ? diedAgain : done));
    const report = await replay(ports, { ...plan, maxFailureRatio: 0.2 });
    expect(report.stopped).toBeUndefined();
    expect(report.sent).toHaveLength(30);
    expect(report.outcomes).toMatchObject({ done: 27, dead: 3, open: 0 });
    expect(report.outcomes?.examples).toHaveLength(3);
  });

  test('above it stops, with no more at risk than the sample and what may be open', async () => {
    const { ports, left } = scene(200, () => diedAgain);
    const report = await replay(ports, { ...plan, maxFailureRatio: 0.5 });
    expect(report.stopped).toMatch(/^\d+ of \d+ died again, more than 50 %/);
    expect(report.sent.length).toBeLessThanOrEqual(30);
    expect(left('shipping').length).toBeGreaterThanOrEqual(170);
  });

  test('a few outcomes are no sample', async () => {
    const { ports } = scene(5, () => diedAgain);
    const report = await replay(ports, { ...plan, maxFailureRatio: 0 });
    expect(report.stopped).toBeUndefined();
    expect(report.outcomes).toMatchObject({ dead: 5 });
  });

  test('tasks without an outcome hold the sending up, and do not stop it for ever', async () => {
    const { ports, sentAt } = scene(22, () => undefined);
    const report = await replay(ports, { ...plan, maxFailureRatio: 0.5, waitMs: 10_000 });
    expect(report.sent).toHaveLength(22);
    expect(report.outcomes?.open).toBe(22);
    expect((sentAt[20] ?? 0) - (sentAt[19] ?? 0)).toBeGreaterThanOrEqual(10_000);
  });

  test('a dry run watches nothing', async () => {
    const { ports } = scene(3, () => diedAgain);
    const report = await replay(ports, { ...plan, canary: 1, maxFailureRatio: 0, dryRun: true });
    expect([report.sent.length, report.outcomes, report.stopped]).toEqual([3, undefined, undefined]);
  });
});
