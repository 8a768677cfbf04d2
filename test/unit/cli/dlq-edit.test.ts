import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { dataDigest } from '#core/claim.ts';
import { type Command, commandOf } from '#core/envelope.ts';
import { asStep, type StepItem, stepItemKey } from '#core/items.ts';
import { parseCommand } from '#core/read-command.ts';
import type { Item } from '#core/store.ts';
import { aDeadStep, seed, T0 } from '#test/examples.ts';
import { shipOrder } from '#workflows/order/contract.ts';
import { CALLER, fakeConnection, RUN } from './fake-connection.ts';
import { fakeQueues, letter } from './fake-letters.ts';

const TASK = `${RUN}/ShipOrder/0`;
const data = {
  orderId: 'o-1',
  lines: [{ sku: 'tea', quantity: 1, unitPriceCents: 450 }],
  reservationId: 'r-1',
  paymentId: 'p-1',
};
const command = (more: { data?: unknown; dataref?: string } = { data }): Command =>
  commandOf({
    taskId: TASK,
    workflow: 'order',
    runId: RUN,
    stepKey: 'ShipOrder',
    contract: { type: shipOrder.type, version: 1, tries: 5 },
    tenant: 'default',
    correlationId: 'c-1',
    traceparent: '00',
    execution: 10_000,
    entry: 0,
    enteredAt: T0,
    deadline: T0,
    ...more,
  });
const dead = aDeadStep({
  ...stepItemKey(RUN, 'ShipOrder'),
  runId: RUN,
  stepKey: 'ShipOrder',
  type: shipOrder.type,
});

async function given(body: string, step: StepItem = dead, ids = ['m-1']) {
  const queues = fakeQueues({ shipping: ids.map((messageId) => letter(body, { messageId })) });
  const cloud = fakeConnection({ queues });
  await seed(cloud.store, step);
  const lookUp = async () => asStep((await cloud.store.get(stepItemKey(RUN, 'ShipOrder'))) as Item);
  cloud.connection.lookUp = lookUp;
  const replay = (...flags: string[]) => cloud.edow(['dlq', 'replay', ...flags]);
  const audit = async () => JSON.parse((await cloud.edow(['audit', '--json'])).out).entries;
  return { ...cloud, queues, replay, audit, step: lookUp };
}

const folder = mkdtempSync(join(tmpdir(), 'edow-edit-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('--set', () => {
  test('changes one place, shows it, notes it on the task and the copy; all else is the same text', async () => {
    const body = JSON.stringify(command()).replace('"correlationid":', ' "correlationid" : ');
    const { replay, queues, step, audit } = await given(body);
    const { exitCode, out } = await replay('--set', '/lines/0/quantity=2', '--yes');
    expect(exitCode).toBe(0);
    expect(out).toContain('    /lines/0/quantity: 1 -> 2\n');
    expect(out).toContain(`sent shipping  ${TASK}  replay 1  edited`);
    const [sent] = queues.sent;
    expect(sent?.copy.body).toBe(body.replace('"quantity":1', '"quantity":2'));
    const digest = dataDigest(parseCommand(sent?.copy.body ?? '') as Command);
    expect(sent?.copy.attributes['edited']).toEqual({ dataType: 'String', text: digest });
    expect((await step()).edited).toEqual({
      who: CALLER,
      at: expect.any(Number),
      digest,
      places: ['/lines/0/quantity'],
    });
    const [entry] = await audit();
    expect(entry).toMatchObject({
      action: 'dlq replay',
      outcome: 'done',
      arguments: { edit: '/lines/0/quantity' },
      counts: { sent: 1, edited: 1 },
    });
  });

  test('what was shown is sent and nothing else, in whatever order the queue hands out', async () => {
    const { connection, replay, queues } = await given(JSON.stringify(command()), dead, ['m-1', 'm-2']);
    const { receive } = connection.letters;
    connection.letters.receive = async (...args) => {
      const batch = [...(await receive(...args))];
      // The second look sees them the other way round.
      connection.letters.receive = async (...more) => [...(await receive(...more))].reverse();
      return batch;
    };
    await replay('--set', '/lines/0/quantity=2', '--limit', '1', '--yes');
    expect(queues.sent.map(({ of }) => of)).toEqual(['m-1']);
    expect(queues.left('shipping')).toEqual(['m-2']);
  });

  test('a value that is there already makes no edit', async () => {
    const body = JSON.stringify(command());
    const { replay, queues, step } = await given(body);
    expect((await replay('--set', '/orderId=o-1')).exitCode).toBe(0);
    expect(queues.sent[0]?.copy.body).toBe(body);
    expect(queues.sent[0]?.copy.attributes).not.toHaveProperty('edited');
    expect((await step()).edited).toBeUndefined();
  });

  test.each([
    [
      'data that does not fit',
      '/lines/0/quantity=0',
      /does not fit shipping\.parcel\.ship version 1: \/lines\/0/,
    ],
    ['a place that is not there', '/lines/7/quantity=2', /its data has no place \/lines\/7\/quantity/],
    ['no pointer', 'lines=2', /--set takes a JSON Pointer and a value/],
  ])('%s: nothing is sent, noted or on record', async (_, set, says) => {
    const { replay, queues, step, audit } = await given(JSON.stringify(command()));
    const { exitCode, err } = await replay('--set', set, '--yes');
    expect(exitCode).not.toBe(0);
    expect(err).toMatch(says);
    expect([queues.sent, await audit(), (await step()).edited]).toEqual([[], [], undefined]);
    expect(queues.left('shipping')).toEqual(['m-1']);
  });

  test('one letter that cannot be edited: none is sent, not even those before it', async () => {
    const good = JSON.stringify(command());
    const { replay, queues, connection, audit } = await given(good, dead, ['m-1', 'm-2']);
    const { receive } = connection.letters;
    const doubled = good.replace(/}$/, `,"data":${JSON.stringify(data)}}`);
    connection.letters.receive = async (...args) =>
      (await receive(...args)).map((one) => (one.messageId === 'm-2' ? { ...one, body: doubled } : one));
    const { exitCode, err } = await replay('--set', '/orderId=o-2', '--yes');
    expect(exitCode).toBe(1);
    expect(err).toMatch(/its body names its data more than once[\s\S]*Nothing was sent/);
    expect([queues.sent, await audit()]).toEqual([[], []]);
  });

  test('a task that is no longer dead has no letter worth an edit', async () => {
    const { replay, queues } = await given(JSON.stringify(command()), { ...dead, status: 'done' });
    expect((await replay('--set', '/orderId=o-2', '--yes')).out).toContain(
      '0 dead letters sent back, 1 left.',
    );
    expect(queues.sent).toEqual([]);
  });

  test('revived between the look and the send: the copy is not sent', async () => {
    const { replay, queues, store } = await given(JSON.stringify(command()));
    const { update } = store;
    store.update = async (change) => {
      if (change.key.SK === 'STEP#ShipOrder') await seed(store, { ...dead, status: 'claimed', fence: 9 });
      return update(change);
    };
    expect((await replay('--set', '/orderId=o-2', '--yes')).out).toContain(
      '0 dead letters sent back, 1 left.',
    );
    expect([queues.sent, queues.left('shipping')]).toEqual([[], ['m-1']]);
  });
});

describe('--edit', () => {
  test('replaces all of the data of one task, from a file', async () => {
    const file = join(folder, 'data.json');
    writeFileSync(file, JSON.stringify({ ...data, orderId: 'o-9', extra: 1 }));
    const { replay, queues, audit } = await given(JSON.stringify(command()));
    const { out } = await replay('--task', TASK, '--edit', `@${file}`, '--yes');
    expect(out).toContain('/orderId: "o-1" -> "o-9"');
    expect(out).toContain('/extra: (nothing) -> 1');
    expect(JSON.parse(queues.sent[0]?.copy.body ?? '').data).toEqual({ ...data, orderId: 'o-9', extra: 1 });
    expect((await audit())[0].arguments).toMatchObject({ task: TASK, edit: 'all' });
  });

  test('data behind a pointer becomes inline, or a new object where it is large', async () => {
    const { replay, queues, payloads } = await given('{}');
    const ref = await payloads.put(`default/${RUN}/ShipOrder-command.json`, JSON.stringify(data));
    const pointed = await given(JSON.stringify(command({ dataref: ref })));
    pointed.payloads.objects.set(...([...payloads.objects][0] as [string, Buffer]));
    await pointed.replay('--set', '/orderId=o-2', '--yes');
    const small = JSON.parse(pointed.queues.sent[0]?.copy.body ?? '');
    expect([small.data.orderId, 'dataref' in small]).toEqual(['o-2', false]);

    const line = { sku: 's'.repeat(60), quantity: 1, unitPriceCents: 1 };
    const lines = Array.from({ length: 100 }, () => ({ ...line, note: 'x'.repeat(400) }));
    const large = await given(JSON.stringify(command()));
    await large.replay('--task', TASK, '--edit', JSON.stringify({ ...data, lines }), '--yes');
    const body = JSON.parse(large.queues.sent[0]?.copy.body ?? '');
    expect('data' in body).toBe(false);
    expect(body.dataref).toContain(`payloads/default/${RUN}/ShipOrder-edit-1.json/`);
    expect(JSON.parse(await large.payloads.get(body.dataref, 'default')).lines).toHaveLength(100);
    expect([queues.sent, (await replay('--dry-run')).exitCode]).toEqual([[], 0]);
  });

  test.each([
    [['--edit', '{}'], /name the one task/],
    [['--edit', '{}', '--task', TASK, '--set', '/a=1'], /leave --set out/],
    [['--edit', '{', '--task', TASK], /--edit cannot be taken/],
  ])('%j is wrong use', async (flags, says) => {
    const { replay } = await given(JSON.stringify(command()));
    const { exitCode, err } = await replay(...flags);
    expect([exitCode, err]).toEqual([2, expect.stringMatching(says)]);
  });
});

describe('before an edited copy is sent', () => {
  const flags = ['dlq', 'replay', '--set', '/orderId=o-2'];

  test.each([
    ['y\n', true, 1],
    ['yes\n', true, 1],
    ['\n', true, 0],
    ['no\n', true, 0],
    ['y\n', false, 0],
  ])('the answer %j of a person (%s): %i sent', async (stdin, typed, count) => {
    const { edow, queues } = await given(JSON.stringify(command()));
    const { exitCode, err } = await edow(flags, { stdin, typed });
    expect(queues.sent).toHaveLength(count);
    expect(exitCode).toBe(count === 1 ? 0 : 2);
    if (typed) expect(err).toContain('Send 1 edited copy (of 1)? [y/N]');
    if (count === 0) expect(err).toContain('add --yes');
  });

  test('a dry run asks nobody and shows the difference', async () => {
    const { edow, queues, audit } = await given(JSON.stringify(command()));
    const { exitCode, out } = await edow([...flags, '--dry-run']);
    expect(exitCode).toBe(0);
    expect(out).toContain('/orderId: "o-1" -> "o-2"');
    expect([queues.sent, await audit()]).toEqual([[], []]);
  });
});
