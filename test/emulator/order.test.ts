/** Orders from the HTTP door to the downstream's books. What is asserted is read from the cloud, never from our logs. */
import type { Message } from '@aws-sdk/client-sqs';
import { describe, expect, test } from 'vitest';
import { executionName, taskIdOf } from '#core/items.ts';
import { LEASE_GRACE_MS, maxReceiveCount } from '#core/retry.ts';
import { anOrder, freshId, STEPS, type StepKey } from '#test/cloud/orders.ts';
import { suite } from '#test/cloud/suite.ts';
import { until } from '#test/cloud/until.ts';
import { shipOrder } from '#workflows/order/contract.ts';

const { system, http, books, stub, queues, started } = suite();
const once = { calls: 1, effects: 1, taken: 1 };

/** Bodies of dead letters name their task. */
const isOf = (runId: string, step: StepKey) => (message: Message) =>
  message.Body?.includes(`"${taskIdOf(runId, step)}"`) ?? false;

/** Dead letters of other runs are other tests' own. */
const noLetterOf = async (runId: string, name: string): Promise<void> =>
  expect(await queues(name).dead.find(({ Body }) => Body?.includes(runId) ?? false)).toEqual([]);

/**
 * An order whose parcel the shipper refuses; returns when its run is held and its message was found among the dead
 * letters and taken out.
 */
async function poisoned(what: string) {
  const order = anOrder(what);
  await stub.plan('ShipOrder', order.orderId, { fails: -1, kind: 'permanent' });
  const runId = await started(order);
  await books.runIs(runId, 'held');
  const { dead } = queues('shipping');
  const letter = await dead.received(isOf(runId, 'ShipOrder'));
  await dead.remove(letter);
  return { order, runId, letter };
}

/** The healed run: it went on in execution 2, and only what had not been done was done. */
async function expectHealed(runId: string): Promise<void> {
  await books.runIs(runId, 'succeeded');
  const { run, step } = await books.partition(runId);
  expect(run).toMatchObject({ execution: 2, resumes: 1 });
  expect((await books.execution(runId, 1)).status).toBe('FAILED');
  expect((await books.execution(runId, 2)).status).toBe('SUCCEEDED');
  for (const key of ['ReserveStock', 'ChargePayment', 'NotifyCustomer'] as const) {
    expect(await stub.booked(runId, key)).toEqual(once);
    expect(step(key)).toMatchObject({ status: 'done', fence: 1 });
  }
  expect(await stub.booked(runId, 'ShipOrder')).toEqual({ calls: 2, effects: 1, taken: 1 });
  expect(step('ShipOrder')).toMatchObject({ status: 'done', fence: 2, deaths: 1 });
  // In execution 2 every finished step was answered from memory: all four states were entered, nothing was sent twice.
  const entered = (await books.history(runId, 2)).flatMap(({ type, stateEnteredEventDetails }) =>
    type === 'TaskStateEntered' ? [stateEnteredEventDetails?.name] : [],
  );
  expect(entered).toEqual(STEPS.map(({ step: name }) => name));
}

describe('an order', () => {
  test('succeeds: accepted, every effect once, shown, and nothing left in any queue', async () => {
    const order = anOrder('good');
    const answer = await http.start('order', freshId('key'), order);
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({ workflow: 'order', status: 'running', repeated: false });
    const { id } = answer.body;
    expect(answer.headers.get('location')).toBe(`/runs/${id}`);

    await books.runIs(id, 'succeeded');
    for (const { step } of STEPS) expect(await stub.booked(id, step)).toEqual(once);

    const { status, body: view } = await http.run(id);
    expect(status).toBe(200);
    expect(view).toMatchObject({ id, workflow: 'order', status: 'succeeded', execution: 1 });
    expect(view.steps.map(({ step }) => step)).toEqual(STEPS.map(({ step }) => step));
    for (const step of view.steps)
      expect(step).toMatchObject({
        status: 'done',
        started: 1,
        attempts: [],
        taskId: taskIdOf(id, step.step),
      });
    expect(view.steps[1]?.result).toEqual({
      status: 'charged',
      amountCents: 4_390,
      paymentId: `payment/charges/${taskIdOf(id, 'ChargePayment')}`,
    });
    // States see what the contract exposes and no more.
    expect(view.output).toMatchObject({ ChargePayment: { status: 'charged' }, ShipOrder: {} });

    const execution = await books.execution(id);
    expect(execution).toMatchObject({ status: 'SUCCEEDED', name: executionName(id, 1) });
    expect(JSON.parse(execution.input ?? '')).toEqual({ runId: id, execution: 1 });
    const history = await books.history(id);
    const types = history.map(({ type }) => type);
    expect(types[0]).toBe('ExecutionStarted');
    expect(types.at(-1)).toBe('ExecutionSucceeded');
    expect(types.filter((type) => type === 'TaskSucceeded')).toHaveLength(STEPS.length);
    expect(types.filter((type) => type === 'TaskFailed')).toEqual([]);
    expect(JSON.stringify(history)).not.toContain(order.customer.id);

    await until('the timeline is complete', async () =>
      (await books.timeline(id)).includes('edow.run.succeeded') ? true : undefined,
    );
    expect((await books.timeline(id)).toSorted()).toEqual(
      [
        'edow.run.started',
        'inventory.stock.reserved',
        'payment.card.charged',
        'shipping.parcel.shipped',
        'notification.customer.notified',
        'edow.run.succeeded',
      ].toSorted(),
    );
    for (const name of Object.keys(system.queues)) {
      await queues(name).work.empty();
      await noLetterOf(id, name);
    }
  });

  test('sent twice with one key is one run with one effect each', async () => {
    const order = anOrder('twice');
    const key = freshId('key');
    const [first, second] = await Promise.all([
      http.start('order', key, order),
      http.start('order', key, order),
    ]);
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(second.body.id).toBe(first.body.id);
    const { id } = first.body;
    await books.runIs(id, 'succeeded');
    const third = await http.start('order', key, { ...order });
    expect(third.status).toBe(202);
    expect(third.body).toEqual({ id, workflow: 'order', status: 'succeeded', repeated: true });
    expect((await books.executions()).filter((name) => name.startsWith(id))).toEqual([id]);
    for (const { step } of STEPS) expect(await stub.booked(id, step)).toEqual(once);
  });

  test('whose worker fails twice succeeds, and both failures are on record', async () => {
    const order = anOrder('flaky');
    await stub.plan('ReserveStock', order.orderId, { fails: 2, kind: 'error' });
    const runId = await started(order);
    await books.runIs(runId, 'succeeded');
    expect(await stub.booked(runId, 'ReserveStock')).toEqual({ calls: 3, effects: 1, taken: 1 });
    const { step } = await books.partition(runId);
    expect(step('ReserveStock')).toMatchObject({ status: 'done', fence: 3, tries: 3, started: 3, clean: 0 });
    const { body: view } = await http.run(runId);
    const failed = {
      outcome: 'failed',
      class: 'retryable',
      error: 'Error',
      message: 'inventory/reservations is out of order',
    };
    expect(view.steps[0]?.attempts).toMatchObject([
      { ...failed, number: 1 },
      { ...failed, number: 2 },
    ]);
    // One entry of the state: the queue alone tries again, Step Functions never does.
    const entries = (await books.history(runId)).filter(({ type }) => type === 'TaskScheduled');
    expect(entries).toHaveLength(STEPS.length);
  });

  test('that a downstream throttles waits without using up a try', async () => {
    const order = anOrder('throttled');
    await stub.plan('NotifyCustomer', order.orderId, { fails: 1, kind: 'throttled', retryAfter: 1 });
    const runId = await started(order);
    const waiting = await until('the task is deferred', async () => {
      const { steps } = await books.partition(runId);
      return steps.find(({ stepKey, status }) => stepKey === 'NotifyCustomer' && status === 'retrying');
    });
    expect(waiting).toMatchObject({ tries: 0, started: 1, clean: 1 });
    expect(waiting.attempts).toMatchObject([{ class: 'throttled', name: 'RetryAfterError' }]);
  });

  test('whose card is declined ends as failed by its own Fail state', async () => {
    const order = anOrder('declined', {
      lines: [{ sku: 'palace', quantity: 1, unitPriceCents: 1_000_001 }],
    });
    const runId = await started(order);
    const run = await books.runIs(runId, 'failed');
    expect(run.cause).toEqual({
      execution: 'FAILED',
      error: 'PaymentDeclined',
      message: 'The card was declined.',
    });
    // Apart from the open ones until the sweeper has seen that all of it is told.
    expect(run.openShard).toMatch(/^ENDED#/);
    expect((await books.execution(runId)).error).toBe('PaymentDeclined');
    const { steps } = await books.partition(runId);
    expect(steps.map(({ stepKey, status }) => [stepKey, status]).toSorted()).toEqual([
      ['ChargePayment', 'done'],
      ['ReserveStock', 'done'],
    ]);
    expect(await stub.booked(runId, 'ChargePayment')).toEqual({ calls: 0, effects: 0, taken: 0 });
    expect((await http.run(runId)).body).toMatchObject({
      status: 'failed',
      cause: { error: 'PaymentDeclined' },
    });
  });
});

describe('a poison order', () => {
  // Its copy must be older than the grace after a death: it grows old while the other tests run.
  const moved = poisoned('moved');
  moved.catch(() => {}); // its own test tells

  test('is held with its reason, its message is a dead letter, and others flow', async () => {
    const { runId, letter } = await poisoned('poison');
    const other = await started(anOrder('other'));
    await books.runIs(other, 'succeeded');

    const { run, step } = await books.partition(runId);
    expect(run).toMatchObject({
      status: 'held',
      execution: 1,
      cause: { execution: 'FAILED', error: 'TaskFailed' },
    });
    expect(run.openShard).toMatch(/^OPEN#/);
    expect(step('ShipOrder')).toMatchObject({
      status: 'dead',
      reason: 'permanent',
      fence: 1,
      tries: 1,
      failure: {
        class: 'permanent',
        name: 'PermanentError',
        message: 'shipping/parcels refuses this request',
      },
    });
    expect(await stub.booked(runId, 'ShipOrder')).toEqual({ calls: 1, effects: 0, taken: 0 });
    expect(await stub.booked(runId, 'NotifyCustomer')).toEqual({ calls: 0, effects: 0, taken: 0 });
    // The state failed at once, with the task's reason, and did not wait for its time-out of ten minutes.
    const failure = (await books.history(runId)).find(({ type }) => type === 'TaskFailed');
    expect(failure?.taskFailedEventDetails?.error).toBe('TaskFailed');
    expect(JSON.parse(failure?.taskFailedEventDetails?.cause ?? '')).toMatchObject({
      reason: 'permanent',
      taskId: taskIdOf(runId, 'ShipOrder'),
    });

    // SQS moved it: the source is known, which "redrive to source" in the console needs.
    const { work, urls } = queues('shipping');
    expect(letter.Attributes?.['DeadLetterQueueSourceArn']).toBe(urls.queueArn);
    expect(letter.MessageId).toBe(step('ShipOrder').deadMessageId);
    expect(Number(letter.Attributes?.['ApproximateReceiveCount'])).toBeGreaterThan(
      maxReceiveCount(shipOrder.retry.tries),
    );
    expect(JSON.parse(letter.Body ?? '')).toMatchObject({
      id: taskIdOf(runId, 'ShipOrder'),
      type: shipOrder.type,
      tenant: run.tenant,
      correlationid: run.correlationId,
      data: { reservationId: `inventory/reservations/${taskIdOf(runId, 'ReserveStock')}` },
    });
    expect(letter.MessageAttributes?.['type']?.StringValue).toBe(shipOrder.type);
    const { body: view } = await http.run(runId);
    expect(view).toMatchObject({ status: 'held', cause: { error: 'TaskFailed' } });
    expect(view.steps[2]).toMatchObject({ status: 'dead', reason: 'permanent', started: 1 });
    await work.empty();
  });

  test('heals when its cause is mended and a copy is replayed by our own tool', async () => {
    const { order, runId, letter } = await poisoned('replayed');
    const { work } = queues('shipping');
    await stub.mend('ShipOrder', order.orderId);
    await work.send(letter.Body ?? '', 1);
    await expectHealed(runId);
    const { step } = await books.partition(runId);
    expect(step('ShipOrder').replay).toBe(1);
    await work.empty();
    await noLetterOf(runId, 'shipping');
  });

  test('stays dead when a copy comes that was on its way at its death', async () => {
    const { order, runId, letter } = await poisoned('doubled');
    const { work, dead } = queues('shipping');
    await stub.mend('ShipOrder', order.orderId);
    await work.send(letter.Body ?? '');
    const copy = await dead.received(isOf(runId, 'ShipOrder'));
    expect(copy.MessageId).not.toBe(letter.MessageId);
    expect((await books.partition(runId)).step('ShipOrder')).toMatchObject({ status: 'dead', fence: 1 });
    expect((await books.run(runId))?.status).toBe('held');
    await dead.remove(copy);
  });

  test('replayed before its cause is mended dies again, and heals by the next replay', async () => {
    const { order, runId, letter } = await poisoned('hasty');
    const { work, dead } = queues('shipping');
    await work.send(letter.Body ?? '', 1);
    await until('the task died again', async () =>
      (await books.partition(runId)).step('ShipOrder').deaths === 2 ? true : undefined,
    );
    const second = await dead.received(isOf(runId, 'ShipOrder'));
    await dead.remove(second);
    expect(second.Body).toBe(letter.Body);
    expect((await books.run(runId))?.status).toBe('held');
    await stub.mend('ShipOrder', order.orderId);
    // The number that was used already is no new chance.
    await work.send(second.Body ?? '', 1);
    const third = await dead.received(isOf(runId, 'ShipOrder'));
    await dead.remove(third);
    expect((await books.partition(runId)).step('ShipOrder')).toMatchObject({ status: 'dead', deaths: 2 });
    await work.send(third.Body ?? '', 2);
    await books.runIs(runId, 'succeeded');
    expect(await stub.booked(runId, 'ShipOrder')).toEqual({ calls: 3, effects: 1, taken: 1 });
    await noLetterOf(runId, 'shipping');
  });

  test("heals by a copy as AWS's move task leaves it: a new id and send time, the same body", async () => {
    const { order, runId, letter } = await moved;
    const { work } = queues('shipping');
    const died = (await books.partition(runId)).step('ShipOrder').deadAt ?? 0;
    await stub.mend('ShipOrder', order.orderId);
    await until('the grace is over', async () =>
      Date.now() > died + LEASE_GRACE_MS + 1_000 ? true : undefined,
    );
    expect((await books.partition(runId)).step('ShipOrder')).toMatchObject({ status: 'dead', fence: 1 });
    expect(await work.send(letter.Body ?? '')).not.toBe(letter.MessageId);
    await expectHealed(runId);
    await work.empty();
    await noLetterOf(runId, 'shipping');
  });
});

describe('the list of runs', () => {
  test('is filtered, newest first, in pages', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) ids.push(await started(anOrder(`list-${n}`)));
    for (const id of ids) await books.runIs(id, 'succeeded');
    const newestFirst = ids.toReversed();
    await until('the list has caught up', async () => {
      const { body } = await http.runs('?workflow=order&status=succeeded&limit=3');
      return JSON.stringify(body.runs.map(({ id }) => id)) === JSON.stringify(newestFirst) ? true : undefined;
    });
    const all = await http.runs('?limit=100');
    expect(all.status).toBe(200);
    const listed = all.body.runs.map(({ id }) => id);
    expect(listed).toEqual(listed.toSorted().toReversed());
    expect(new Set(all.body.runs.map(({ status }) => status)).size).toBeGreaterThan(1);
    expect(all.body.staleness).toMatch(/second/);

    const first = await http.runs('?status=succeeded&limit=2');
    expect(first.body.runs.map(({ id }) => id)).toEqual(newestFirst.slice(0, 2));
    expect(first.body.next).toBeTruthy();
    const second = await http.runs(
      `?status=succeeded&limit=2&cursor=${encodeURIComponent(first.body.next ?? '')}`,
    );
    expect(second.body.runs[0]?.id).toBe(newestFirst[2]);

    for (const status of ['running', 'held', 'succeeded', 'failed']) {
      const { body } = await http.runs(`?status=${status}&limit=100`);
      expect(body.runs.filter((run) => run.status !== status)).toEqual([]);
    }
    const none = await http.runs('?workflow=other');
    expect(none.body.runs).toEqual([]);
  });
});
