/** What nobody of ours does: executions and messages from elsewhere, pools that stand still. */
import type { PeopleParts } from './people.ts';

const MINUTE = 60_000;
const NOBODY = '01BX5ZZKBKACTAV9WEVGEMMVRZ';

/** An execution that was started by hand, of a run that is on nobody's record. */
export function intrudersOf({ clockwork, faults, random, machine, plan }: PeopleParts): void {
  if (!faults.strikes('execution of nobody')) return;
  clockwork.at(clockwork.now() + random.between(0, 5 * MINUTE), () =>
    machine.start(random.pick(plan.workflows), NOBODY, JSON.stringify({ runId: NOBODY, execution: 1 })),
  );
}

/** A pool stands still for longer than some steps may take. */
const PAUSE_MS = [2 * MINUTE, 15 * MINUTE] as const;
/** Messages of a queue that the sweeper takes for slow, not for empty. */
const BACKLOG = 12;
/** What S3 sends to every target when its notifications are configured. */
const TEST_NOTIFICATION = JSON.stringify({ Service: 'Amazon S3', Event: 's3:TestEvent' });

export function pausesOf({ clockwork, faults, random, pools }: PeopleParts): void {
  const queues = [...pools.values()];
  if (faults.strikes('pool paused'))
    clockwork.at(clockwork.now() + random.between(0, 5 * MINUTE), () =>
      random.pick(queues).pause(random.between(...PAUSE_MS)),
    );
  if (faults.strikes('pool has a backlog'))
    clockwork.at(clockwork.now() + random.between(0, MINUTE), () => {
      const queue = random.pick(queues);
      queue.pause(random.between(...PAUSE_MS));
      for (let at = 0; at < BACKLOG; at += 1) queue.send({ body: TEST_NOTIFICATION, origin: 'stranger' });
    });
}

/** Messages that nobody of ours has sent. */
export function strangersOf({ clockwork, faults, random, pools }: PeopleParts): void {
  const queues = [...pools.values()];
  const bodies = [
    'no JSON',
    '{"specversion":"1.0"}',
    '[]',
    TEST_NOTIFICATION,
    JSON.stringify({ ...SAMPLE, type: 'nobody.handles.it' }),
    JSON.stringify(SAMPLE),
  ];
  for (let at = 0; at < 4; at += 1) {
    if (!faults.strikes('strange message')) continue;
    clockwork.at(clockwork.now() + random.between(0, 10 * MINUTE), () =>
      random.pick(queues).send({ body: random.pick(bodies), origin: 'stranger' }),
    );
  }
}

/** A command of a run that is on nobody's record. */
const SAMPLE = {
  specversion: '1.0',
  id: '01ARZ3NDEKTSV4RRFFQ69G5FAV/S1a/0',
  source: 'urn:edow:workflow:first',
  type: 'alpha.thing.make',
  time: '2026-01-05T09:00:00.000Z',
  datacontenttype: 'application/json',
  data: { value: 1, filling: '' },
  correlationid: 'c',
  causationid: 'c',
  traceparent: '00-11111111111111111111111111111111-2222222222222222-01',
  tenant: 'default',
  workflow: 'first',
  runid: '01ARZ3NDEKTSV4RRFFQ69G5FAV',
  step: 'S1a',
  execution: 10_000,
  entry: 0,
  deadline: '2026-01-05T10:00:00.000Z',
  trylimit: 3,
};
