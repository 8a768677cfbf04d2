import { expect, test } from 'vitest';
import { listDead } from '#cli/dead-list.ts';
import { commandBody, fakeQueues, letter, source } from './fake-letters.ts';

const RUN = '01M8MJH2GRNCRTQZXW4FXC62VA';

test('each letter with what is on record; nothing is deleted, nothing stays hidden', async () => {
  const dead = letter(commandBody(RUN, 'ShipOrder'), {
    attributes: { replay: { dataType: 'Number', text: '2' } },
  });
  const queues = fakeQueues(
    {
      shipping: [dead, letter(commandBody(RUN, 'Done')), letter(commandBody(RUN, 'Lost')), letter('garbage')],
      project: [letter(JSON.stringify({ id: `${RUN}:2`, type: 'edow.run.held', subject: RUN }))],
    },
    {
      tasks: {
        [`${RUN}/ShipOrder`]: {
          status: 'dead',
          reason: 'permanent',
          started: 3,
          deadAt: 5000,
          failure: { class: 'permanent', name: 'PermanentError', message: 'no', fingerprint: 'f00' },
          attempts: [
            {
              fence: 1,
              startedAt: 2000,
              endedAt: 2100,
              class: 'retryable',
              name: 'E',
              message: '',
              worker: 'w',
            },
          ],
        },
        [`${RUN}/Done`]: { status: 'done', started: 1 },
      },
    },
  );
  const { entries, complete } = await listDead(queues.ports.letters, queues.ports.lookUp, [
    source('shipping'),
    source('project'),
  ]);
  expect(complete).toBe(true);
  expect(entries[0]).toEqual({
    source: 'shipping',
    messageId: dead.messageId,
    run: RUN,
    step: 'ShipOrder',
    task: `${RUN}/ShipOrder/0`,
    type: 'shipping.parcel.ship',
    status: 'dead',
    reason: 'permanent',
    error: 'PermanentError',
    message: 'no',
    fingerprint: 'f00',
    tries: 3,
    replays: 2,
    firstAt: '1970-01-01T00:00:02.000Z',
    lastAt: '1970-01-01T00:00:05.000Z',
  });
  expect(entries.map(({ reason }) => reason)).toEqual([
    'permanent',
    'left over: done',
    'not on record',
    'unreadable',
    'not a task',
  ]);
  expect(queues.log).toEqual([]);
  expect(queues.hidden.size).toBe(0);
});

test('a long queue is looked at up to a limit, and that is said', async () => {
  const letters = Array.from({ length: 250 }, (_, index) => letter(commandBody(RUN, `Step${index}`)));
  const queues = fakeQueues({ shipping: letters });
  const { entries, complete } = await listDead(queues.ports.letters, queues.ports.lookUp, [
    source('shipping'),
  ]);
  expect(entries).toHaveLength(200);
  expect(complete).toBe(false);
  expect(queues.hidden.size).toBe(0);
});
