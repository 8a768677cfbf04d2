import { describe, expect, test } from 'vitest';
import { walk } from '#cli/letter-walk.ts';
import type { DeadLetter } from '#cli/ports.ts';
import { commandBody, fakeQueues, letter, source } from './fake-letters.ts';

const RUN = '01JDQ8Z6W3M2T9V5K7X0ABCDEF';

describe('letters that somebody else holds', () => {
  const held = () => {
    const one = letter(commandBody(RUN, 'Ship'));
    const queues = fakeQueues({ shipping: [one] });
    queues.hidden.add(one.messageId);
    const met: DeadLetter[] = [];
    const walked = (sleep: (milliseconds: number) => Promise<unknown>) =>
      walk(
        {
          ...queues.ports,
          sleep,
          hiddenSeconds: 60,
          handle: async (_box, found) => {
            met.push(found);
            return false;
          },
          isOver: () => false,
        },
        source('shipping'),
      );
    return { one, queues, met, walked };
  };

  test('are waited for: the sweeper gives them back within seconds', async () => {
    const { one, queues, met, walked } = held();
    let waits = 0;
    const complete = await walked(async () => {
      waits += 1;
      if (waits === 3) queues.reappear();
    });
    expect(met).toEqual([one]);
    expect(waits).toBe(3);
    expect(complete).toBe(true);
  });

  test('for no longer than a look of the sweeper takes; then it is said that not all was looked at', async () => {
    const { met, walked, queues } = held();
    let waitedMs = 0;
    const complete = await walked(async (milliseconds) => {
      waitedMs += milliseconds;
    });
    expect([met, complete, waitedMs]).toEqual([[], false, 25_000]);
    expect(queues.left('shipping')).toHaveLength(1);
  });

  test('an empty queue is not waited for', async () => {
    const queues = fakeQueues({ shipping: [] });
    const walked = walk(
      {
        ...queues.ports,
        sleep: () => Promise.reject(new Error('waited')),
        hiddenSeconds: 60,
        handle: async () => true,
        isOver: () => false,
      },
      source('shipping'),
    );
    expect(await walked).toBe(true);
  });
});
