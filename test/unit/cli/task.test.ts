import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { asRun, asStep, type RunItem, runKey, type StepItem, stepItemKey } from '#core/items.ts';
import { deduplicationId } from '#core/ordering-key.ts';
import type { Item } from '#core/store.ts';
import { aDeadStep, aRun, seed } from '#test/examples.ts';
import { shipOrder } from '#workflows/order/contract.ts';
import { CALLER, fakeConnection, RUN } from './fake-connection.ts';
import { fakeQueues, source } from './fake-letters.ts';

const TASK = `${RUN}/ShipOrder/0`;
const RESULT = '{"shipmentId":"s-1"}';
const held = aRun({ ...runKey(RUN), runId: RUN, status: 'held' });
const ship = (more: Partial<StepItem> = {}) =>
  aDeadStep({
    ...stepItemKey(RUN, 'ShipOrder'),
    runId: RUN,
    stepKey: 'ShipOrder',
    type: shipOrder.type,
    reason: 'unknown',
    ...more,
  });

async function given(run: RunItem = held, ...steps: readonly StepItem[]) {
  const cloud = fakeConnection();
  await seed(cloud.store, run, ...(steps.length === 0 ? [ship()] : steps));
  const step = async () => asStep((await cloud.store.get(stepItemKey(RUN, 'ShipOrder'))) as Item);
  const present = async () => asRun((await cloud.store.get(runKey(RUN))) as Item);
  const audit = async () => JSON.parse((await cloud.edow(['audit', '--json'])).out).entries;
  const resolve = (...flags: string[]) => cloud.edow(['task', 'resolve', TASK, ...flags]);
  return { ...cloud, step, run: present, audit, resolve };
}

const folder = mkdtempSync(join(tmpdir(), 'edow-task-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('task resolve --done', () => {
  test('stores the result, and who said so; the audit has its digest and not what was in it', async () => {
    const { resolve, step, audit } = await given();
    const { exitCode, out } = await resolve('--done', RESULT, '--reason', 'seen in the books');
    expect(exitCode).toBe(0);
    expect(out).toContain(`Task ${TASK} is done, by your word.`);
    expect(out).toContain(`Its held run goes on by itself: npx edow watch ${RUN}`);
    expect(await step()).toMatchObject({
      status: 'done',
      result: RESULT,
      resolvedBy: { how: 'done', who: CALLER, why: 'seen in the books' },
    });
    const [entry] = await audit();
    expect(entry).toMatchObject({
      who: CALLER,
      action: 'task resolve',
      outcome: 'done',
      counts: { tasks: 1 },
      arguments: { task: TASK, as: 'done', reason: 'seen in the books' },
    });
    expect(entry.arguments.result).toMatch(/^[0-9a-f]{12}$/);
    expect(JSON.stringify(entry)).not.toContain('s-1');
  });

  test('takes a file, and gives JSON', async () => {
    const file = join(folder, 'result.json');
    writeFileSync(file, RESULT);
    const { resolve, step } = await given();
    const { out } = await resolve('--done', `@${file}`, '--json');
    expect(JSON.parse(out)).toEqual({ task: TASK, as: 'done', run: { id: RUN, status: 'held' } });
    expect((await step()).status).toBe('done');
  });

  test.each([
    ['no JSON', '{', 2, /--done cannot be taken \(no JSON\)/],
    [
      'a number that cannot be kept',
      '{"shipmentId":12345678901234567890}',
      2,
      /\/shipmentId: a number is too/,
    ],
    ['another shape', '{"shipment":"s"}', 2, /does not fit shipping\.parcel\.ship version 1: \/shipmentId /],
    ['no such file', '@/nowhere/x.json', 2, /\/nowhere\/x\.json of --done cannot be read \(ENOENT\)/],
  ])('%s: refused, nothing is changed or on record', async (_, result, code, says) => {
    const { resolve, step, audit } = await given();
    const { exitCode, err } = await resolve('--done', result);
    expect(exitCode).toBe(code);
    expect(err).toMatch(says);
    expect((await step()).status).toBe('dead');
    expect(await audit()).toEqual([]);
  });

  test('a type that this clone does not know cannot be checked', async () => {
    const { resolve } = await given(held, ship({ type: 'other.thing.do' }));
    expect((await resolve('--done', RESULT)).err).toMatch(/no workflow of this clone has a task of type/);
  });

  test('another dead task keeps the run held, and is named', async () => {
    const other = { ...ship(), ...stepItemKey(RUN, 'Other'), stepKey: 'Other' };
    const { resolve } = await given(held, ship(), other);
    expect((await resolve('--done', RESULT)).out).toContain(
      `Its run stays held until these are decided or replayed too: ${RUN}/Other/0`,
    );
  });
});

test('a run that was stopped by hand, or resumed too often, needs one hand more', async () => {
  for (const more of [{ cause: { execution: 'ABORTED' } }, { resumes: 5 }]) {
    const { resolve } = await given({ ...held, ...more });
    expect((await resolve('--done', RESULT)).out).toMatch(
      new RegExp(`does not go on by itself \\(.*by hand\\): npx edow resume ${RUN}`),
    );
  }
});

describe('task resolve --retry', () => {
  test('sends the command again, as the topic would', async () => {
    const { resolve, step, queues } = await given();
    const { exitCode, out } = await resolve('--retry');
    expect(exitCode).toBe(0);
    expect(out).toContain('its command was sent to its queue');
    expect(await step()).toMatchObject({ status: 'retrying', tries: 0 });
    const [{ queueUrl, copy } = { queueUrl: '', copy: undefined }] = queues.sent;
    expect(queueUrl).toBe('q/shipping');
    const tenant = { dataType: 'String', text: 'acme' };
    const type = { dataType: 'String', text: shipOrder.type };
    expect(copy).toMatchObject({ groupId: 'acme', attributes: { type, tenant } });
    expect(copy).not.toHaveProperty('deduplicationId');
    expect(JSON.parse(copy?.body ?? '')).toMatchObject({ id: TASK, type: shipOrder.type });
  });

  const fifo = { ...source('shipping'), queueUrl: 'q/shipping.fifo', dlqUrl: 'dlq/shipping.fifo' };
  const onFifo = async (steps: readonly StepItem[], crashAt?: number) => {
    const inOrder = steps.map((step) => ({ ...step, orderBy: 'orderId' }));
    const cloud = await given(held, ...inOrder);
    const queues = fakeQueues({}, crashAt === undefined ? {} : { crashAt });
    cloud.connection.letters = queues.ports.letters;
    const { pipeline } = cloud.connection;
    cloud.connection.pipeline = async () => ({ ...(await pipeline()), sources: [fifo] });
    return { ...cloud, queues };
  };

  test('after another death it is another message, which a FIFO queue does not take for the first', async () => {
    const at = Date.now() - 60_000;
    const dead = ship({ resolvedBy: { how: 'retry', who: CALLER, at } });
    const { resolve, step, queues } = await onFifo([dead]);
    expect((await resolve('--retry')).exitCode).toBe(0);
    const now = await step();
    expect(now.resolvedBy?.at).toBeGreaterThan(at);
    expect(queues.sent[0]?.copy.deduplicationId).toBe(
      deduplicationId(JSON.parse(queues.sent[0]?.copy.body ?? ''), now.resolvedBy?.at ?? 0),
    );
  });

  test('cut short after its write, it is said again and sends what the first one sent', async () => {
    const first = await onFifo([ship()], 1);
    expect((await first.resolve('--retry')).exitCode).toBe(1);
    expect(await first.audit()).toMatchObject([{ outcome: 'failed' }]);
    const waiting = await first.step();
    expect(waiting).toMatchObject({ status: 'retrying', resolvedBy: { how: 'retry' } });
    const ids: unknown[] = [];
    for (const _ of [1, 2]) {
      const again = await onFifo([waiting]);
      expect((await again.resolve('--retry')).exitCode).toBe(0);
      ids.push(again.queues.sent[0]?.copy.deduplicationId);
      expect(await again.step()).toEqual(waiting);
    }
    expect(ids[0]).toMatch(/^[\w-]{32}$/);
    expect(ids[1]).toBe(ids[0]);
  });

  test('a type that no pool takes is said', async () => {
    const { resolve } = await given(held, ship({ type: 'other.thing.do' }));
    const { exitCode, err } = await resolve('--retry');
    expect(exitCode).toBe(1);
    expect(err).toMatch(/no pool takes commands of type other\.thing\.do\n +Deploy a pool/);
  });

  test('behind a parked task it says what stands in its way', async () => {
    const { resolve } = await given(held, ship({ reason: 'key_parked' }));
    expect((await resolve('--retry')).out).toContain('It stands in line behind another task of its key');
  });
});

describe('task resolve --fail', () => {
  test('ends a held run', async () => {
    const { resolve, step, run } = await given();
    const { exitCode, out } = await resolve('--fail', '--reason', 'cancelled by phone');
    expect(exitCode).toBe(0);
    expect(out).toContain(`Run ${RUN} has failed`);
    expect((await run()).status).toBe('failed');
    expect((await step()).status).toBe('cancelled');
  });

  test('a running one fails by itself', async () => {
    const { resolve, run } = await given({ ...held, status: 'running' });
    expect((await resolve('--fail')).out).toContain(
      'is running and fails when its execution ends, unless its workflow has caught that.',
    );
    expect((await run()).status).toBe('running');
  });
});

describe('refusals say what to do', () => {
  test.each([
    [[], /needs one of --done, --retry and --fail; none given/],
    [['--retry', '--fail'], /; 2 given\n +Right: npx edow task resolve/],
    [['--retry', '--reason', ' '], /1 to 300 characters/],
  ])('%j is wrong use', async (flags, says) => {
    const { resolve } = await given();
    const { exitCode, err } = await resolve(...flags);
    expect(exitCode).toBe(2);
    expect(err).toMatch(says);
  });

  test.each([
    ['a closed run', { ...held, status: 'failed' as const }, ship(), /run 01M8\S+ has failed/],
    ['a task that is done', held, ship({ status: 'done' }), /the task is done; only a dead one/],
    ['a task that is tried', held, ship({ status: 'claimed' }), /the task is claimed; only a dead one/],
  ])('%s', async (_, run, step, says) => {
    const { resolve, audit } = await given(run, step);
    const { exitCode, err } = await resolve('--retry');
    expect(exitCode).toBe(1);
    expect(err).toMatch(says);
    expect(err).toContain(`npx edow show ${RUN}`);
    expect(await audit()).toEqual([]);
  });

  test('an unknown run, an unknown task', async () => {
    const { edow } = await given();
    const other = RUN.replace(/.$/, 'Z');
    expect((await edow(['task', 'resolve', `${other}/ShipOrder/0`, '--retry'])).err).toContain(
      `there is no run ${other}`,
    );
    for (const id of [`${RUN}/Nowhere/0`, `${RUN}/ShipOrder/1`])
      expect((await edow(['task', 'resolve', id, '--retry'])).err).toContain(`it has: ${TASK}`);
  });

  test('a race with a redrive: said, exit code 1, on record', async () => {
    const { connection, store, audit, ...cloud } = await given();
    const update = store.update;
    // The redrive's claim comes between the look and the write.
    store.update = async (change) => {
      if (change.key.SK === 'STEP#ShipOrder') await seed(store, ship({ status: 'claimed', fence: 9 }));
      return update(change);
    };
    const { exitCode, err } = await cloud.resolve('--done', RESULT);
    expect(exitCode).toBe(1);
    expect(err).toContain('somebody else was faster: the task is claimed now, and nothing was changed');
    expect(await audit()).toMatchObject([{ outcome: 'failed' }]);
  });
});
