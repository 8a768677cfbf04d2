/**
 * Field case of task callbacks: H10 at collect. With real queues: the fault simulation (lost answers, doubled records)
 * and test/emulator.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { PortUnavailable } from '#core/errors.ts';
import type { StepItem } from '#core/items.ts';
import type { Item } from '#core/store.ts';
import { aDeadStep, aDoneStep, aRun, aStep, seed } from '#test/examples.ts';
import { memoryAnswers } from '#test/memory/state-machines.ts';
import { memoryStore } from '#test/memory/store.ts';
import { printed, virtualTime } from '#test/pool-fixtures.ts';
import { collectOn, streamRecord } from '#test/stream-fixtures.ts';

beforeEach(virtualTime);

const asItem = (item: object): Item => item as Item;

describe('H10 task callback sent twice, or its first answer lost', () => {
  async function waiting(step: StepItem) {
    const collect = collectOn();
    collect.answers.open(step.token);
    await seed(collect.store, aRun(), step);
    return collect;
  }
  const changed = (step: StepItem) => streamRecord(asItem(aStep()), asItem(step), '1');

  test('H10 (1) the same result twice, in one batch or two: the workflow goes on once, nothing is retried', async () => {
    const log = printed();
    const step = aDoneStep();
    const collect = await waiting(step);
    expect(await collect.stream([changed(step), changed(step)])).toEqual([]);
    expect(await collect.stream([changed(step)])).toEqual([]);
    expect(collect.answers.accepted).toEqual([{ token: 'token-1', output: '{"reservationId":"r-1"}' }]);
    expect(collect.retries.records).toEqual([]);
    expect(log.entries().filter(({ message }) => message === 'answer was not accepted')).toHaveLength(2);
  });

  test('H10 (2) the answer was taken and its reply lost: the second try is refused, and that is the end of it', async () => {
    printed();
    const step = aDoneStep();
    const answers = memoryAnswers();
    let lost = 1;
    const collect = collectOn({
      store: memoryStore(),
      answers: {
        ...answers,
        succeed: async (token, output) => {
          const answer = await answers.succeed(token, output);
          if (lost-- > 0) throw new PortUnavailable('SendTaskSuccess is unavailable: TimeoutError');
          return answer;
        },
      },
    });
    answers.open(step.token);
    await seed(collect.store, aRun(), step);
    expect(await collect.stream([changed(step)])).toEqual([]);
    expect(collect.retries.records).toHaveLength(1);
    expect(await collect.again(collect.retries)).toEqual([]);
    expect(answers.accepted).toHaveLength(1);
    expect(await collect.store.get(step)).toMatchObject({ status: 'done', unaccepted: true });
  });

  test.each(['its old record', 'its retry message'])(
    'H10 (3) success, then a failure of the same task (%s): success stays',
    async (how) => {
      const log = printed();
      const step = aDoneStep();
      const collect = await waiting(step);
      await collect.stream([changed(step)]);
      const dead = aDeadStep();
      if (how === 'its old record')
        expect(await collect.stream([streamRecord(asItem(aStep()), asItem(dead), '0')])).toEqual([]);
      else
        expect(await collect.again({ records: [JSON.stringify({ PK: step.PK, SK: step.SK })] })).toEqual([]);
      expect(collect.answers.accepted).toEqual([{ token: 'token-1', output: '{"reservationId":"r-1"}' }]);
      expect(collect.retries.records).toEqual([]);
      expect(log.entries().at(-1)?.['message']).toMatch(/failure is out of date|answer was not accepted/);
    },
  );

  test('H10 a failure first, then the success of a replay: the state is told once, the result is kept', async () => {
    printed();
    const dead = aDeadStep();
    const collect = await waiting(dead);
    await collect.stream([changed(dead)]);
    expect(collect.answers.accepted).toMatchObject([{ token: 'token-1', error: 'TaskFailed' }]);
    const step = aDoneStep({ deaths: 1 });
    await seed(collect.store, step);
    expect(await collect.stream([streamRecord(asItem(dead), asItem(step), '2')])).toEqual([]);
    expect(collect.answers.accepted).toHaveLength(1);
    expect(await collect.store.get(step)).toMatchObject({ status: 'done', unaccepted: true });
  });
});
