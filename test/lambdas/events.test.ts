/**
 * Field cases at a reader of events, project: H08, H27 (c), and H24 for the views. H27 (b) is in replays.test.ts, (a) is
 * open until there is compensation.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import type { Envelope } from '#core/envelope.ts';
import { RUN_EVENTS, runOutbox } from '#core/run-changes.ts';
import { aRun, T0 } from '#test/examples.ts';
import { lambdaContext, pass, printed, reported, sqsRecord, virtualTime } from '#test/pool-fixtures.ts';
import { projectOn } from '#test/stream-fixtures.ts';

beforeEach(virtualTime);

describe('events at their reader', () => {
  const ofRun = (seq: number, status: 'running' | 'held' | 'succeeded'): Envelope => {
    const type = status === 'running' ? RUN_EVENTS.started : RUN_EVENTS[status];
    const { data, ...rest } = runOutbox(aRun(), type, { status }, T0 + seq * 1000);
    const { runId } = aRun();
    return {
      ...rest,
      specversion: '1.0',
      datacontenttype: 'application/json',
      id: `${runId}:${seq}`,
      subject: runId,
      causationid: runId,
      data: JSON.parse(data ?? ''),
    };
  };
  const rows = async ({ views }: ReturnType<typeof projectOn>) =>
    (await views.listRuns({ tenant: 'acme', limit: 10 })).rows;

  test('H27 (c) version 5, then a replay of version 3: the state is still that of version 5', async () => {
    printed();
    const project = projectOn();
    await project.feed(ofRun(5, 'succeeded'));
    expect(
      reported(await project.feed(ofRun(3, 'held'), ofRun(5, 'succeeded'), ofRun(1, 'running'))),
    ).toEqual([]);
    expect(await rows(project)).toMatchObject([{ status: 'succeeded', seq: 5 }]);
  });

  test('H08 one unreadable event does not hold up the others, and its content is in no log', async () => {
    const log = printed();
    const project = projectOn();
    const good = sqsRecord(JSON.stringify(ofRun(1, 'running')));
    const bodies = [
      '',
      'SECRET',
      'null',
      '[]',
      '42',
      '{}',
      JSON.stringify({ ...ofRun(2, 'held'), data: 'SECRET' }),
      JSON.stringify({ ...ofRun(2, 'held'), id: 'SECRET' }),
    ];
    const odd = bodies.map((body) => sqsRecord(body));
    const noise = sqsRecord('{"Service":"Amazon S3","Event":"s3:TestEvent"}');
    const response = await project.handler({ Records: [...odd, noise, good] }, lambdaContext());
    expect(reported(response).sort()).toEqual(odd.map(({ messageId }) => messageId).sort());
    expect(await rows(project)).toMatchObject([{ status: 'running', seq: 1 }]);
    expect(log.entries().filter(({ message }) => message === 'message is no event')).toHaveLength(odd.length);
    expect(log.lines.join('\n')).not.toContain('SECRET');
  });

  test('H24 expiries in the views are whole seconds of ten digits, between an hour and a year ahead', async () => {
    printed();
    pass(3600_000);
    const project = projectOn();
    await project.feed(ofRun(1, 'running'));
    expect(await rows(project)).not.toHaveProperty('0.expiresAt');
    await project.feed(ofRun(2, 'succeeded'));
    const expiries = [...(await rows(project)), ...(await project.views.timeline(aRun().runId))].map(
      ({ expiresAt }) => expiresAt,
    );
    expect(expiries).toHaveLength(3);
    const now = Date.now() / 1000;
    for (const expiry of expiries) {
      expect(expiry).toSatisfy(Number.isInteger);
      expect(expiry).toBeGreaterThan(now + 3600);
      expect(expiry).toBeLessThan(now + 365 * 86_400);
    }
  });
});
