import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { checkValue, defineTask, defineWorkflow, handle, type TaskDefinition } from '#core/contract.ts';
import { ContractError } from '#core/errors.ts';
import { reserve } from '#test/examples.ts';
import { orderWorkflow } from '#workflows/order/contract.ts';

const input = z.object({ orderId: z.string() });
const output = z.object({ reservationId: z.string(), lines: z.number() });
const valid: TaskDefinition<typeof input, typeof output> = {
  type: 'inventory.stock.reserve',
  version: 1,
  input,
  output,
  event: 'inventory.stock.reserved',
  timeoutSeconds: 300,
  undo: 'inventory.stock.release',
};

describe('defineTask', () => {
  test('completes what is not said', () => {
    expect(defineTask(valid)).toEqual({
      ...valid,
      expose: [],
      retry: { tries: 5, baseSeconds: 2, maxSeconds: 300 },
      mode: 'normal',
    });
  });

  test('keeps what is said', () => {
    const task = defineTask({
      ...valid,
      version: 9999,
      expose: ['lines'],
      retry: { tries: 10, maxSeconds: 42_000, baseSeconds: 42_000 },
      timeoutSeconds: 4 * 86_400,
      undo: { none: 'a read changes nothing' },
    });
    expect(task).toMatchObject({
      expose: ['lines'],
      retry: { tries: 10, baseSeconds: 42_000, maxSeconds: 42_000 },
      undo: { none: 'a read changes nothing' },
    });
  });

  test.each<[string, Partial<typeof valid>, string]>([
    ['an event in the imperative', { event: 'inventory.stock.reserve' }, 'not in the past tense'],
    ['a command in the past tense', { type: 'inventory.stock.reserved' }, 'past tense "reserved"'],
    ['an undo in the past tense', { undo: 'inventory.stock.released' }, 'past tense "released"'],
    ['version 0', { version: 0 }, 'version is 0; allowed: a whole number from 1'],
    ['version 1.5', { version: 1.5 }, 'version is 1.5'],
    ['version 10000', { version: 10_000 }, 'version is 10000'],
    ['no try', { retry: { tries: 0 } }, 'retry.tries is 0; allowed: a whole number from 1 to 10'],
    ['11 tries', { retry: { tries: 11 } }, 'retry.tries is 11'],
    ['NaN tries', { retry: { tries: Number.NaN } }, 'retry.tries is NaN'],
    ['no longest wait', { retry: { maxSeconds: 0 } }, 'retry.maxSeconds is 0'],
    [
      'a wait longer than a message can be hidden',
      { retry: { maxSeconds: 42_001 } },
      'whole seconds from 1 to 42000',
    ],
    ['no first wait', { retry: { baseSeconds: 0 } }, 'retry.baseSeconds is 0'],
    [
      'a first wait over the longest',
      { retry: { baseSeconds: 301 } },
      'whole seconds from 1 to retry.maxSeconds',
    ],
    ['no time', { timeoutSeconds: 0 }, 'timeoutSeconds is 0'],
    ['more time than a queue keeps messages', { timeoutSeconds: 345_601 }, 'whole seconds from 1 to 345600'],
  ])('refuses %s', (_what, changes, why) => {
    expect(() => defineTask({ ...valid, ...changes })).toThrow(ContractError);
    expect(() => defineTask({ ...valid, ...changes })).toThrow(why);
  });
});

describe('defineWorkflow', () => {
  test('is the workflow itself', () => {
    const workflow = { name: 'order', input, tasks: [reserve] };
    expect(defineWorkflow(workflow)).toBe(workflow);
  });

  test('refuses a name that fits no URL, and a task listed twice', () => {
    expect(() => defineWorkflow({ name: 'Order', input, tasks: [] })).toThrow('cannot be a workflow name');
    expect(() => defineWorkflow({ name: 'order', input, tasks: [reserve, reserve] })).toThrow(
      'task inventory.stock.reserve is listed twice',
    );
  });

  test('the reference workflow has four tasks, each with an undo or a reason for none', () => {
    expect(orderWorkflow.tasks.map(({ type }) => type)).toEqual([
      'inventory.stock.reserve',
      'payment.card.charge',
      'shipping.parcel.ship',
      'notification.customer.notify',
    ]);
    for (const { undo } of orderWorkflow.tasks) expect(typeof undo === 'string' || undo.none).toBeTruthy();
  });
});

test('handle binds a handler to its contract', async () => {
  const run = async ({ orderId }: { orderId: string }) => ({ reservationId: `r-${orderId}` });
  const handler = handle(reserve, run);
  expect(handler.contract).toBe(reserve);
  expect(await handler.run({ orderId: '1' }, {} as never)).toEqual({ reservationId: 'r-1' });
});

describe('checkValue', () => {
  const schema = z.strictObject({
    orderId: z.string(),
    lines: z.array(z.object({ sku: z.string().check(z.maxLength(3)) })),
    'a/b~c': z.optional(z.number()),
    kind: z.optional(z.enum(['gift', 'plain'])),
  });

  test('gives the parsed value, without members that the schema does not know', () => {
    expect(checkValue(input, { orderId: '1', more: true })).toEqual({ ok: true, value: { orderId: '1' } });
  });

  test('says where each problem is, by JSON Pointer', () => {
    const value = { lines: [{ sku: 'abc' }, { sku: 'abcd' }], 'a/b~c': 'x' };
    const checked = checkValue(schema, value);
    expect(checked.ok).toBe(false);
    expect(checked).toHaveProperty('problems.length', 3);
    const pointers = checked.ok ? [] : checked.problems.map(({ pointer }) => pointer);
    expect(pointers.sort()).toEqual(['/a~1b~0c', '/lines/1/sku', '/orderId']);
  });

  test('a problem of the whole has an empty pointer', () => {
    expect(checkValue(schema, 'text')).toMatchObject({ ok: false, problems: [{ pointer: '' }] });
  });

  test('gives at most 20 problems', () => {
    const checked = checkValue(schema, {
      orderId: '1',
      lines: Array.from({ length: 50 }, () => ({ sku: 1 })),
    });
    expect(checked).toHaveProperty('problems.length', 20);
  });

  test('never repeats what was sent', () => {
    const secret = 'SECRET-4111111111111111';
    const values = [
      secret,
      { orderId: 1, lines: secret },
      { orderId: secret, lines: [{ sku: secret }] },
      { orderId: '1', lines: [], kind: secret },
      { orderId: '1', lines: [], [secret]: 1 },
    ];
    for (const value of values) {
      const checked = checkValue(schema, value);
      expect(checked.ok).toBe(false);
      expect(JSON.stringify(checked)).not.toContain(secret);
    }
  });

  test('whatever is sent is judged, and problems are bounded', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        const checked = checkValue(z.record(z.string(), z.number()), value);
        if (checked.ok) return;
        expect(checked.problems.length).toBeGreaterThan(0);
        for (const { pointer, detail } of checked.problems) {
          expect(pointer.length).toBeLessThanOrEqual(101);
          expect(detail.length).toBeLessThanOrEqual(200);
        }
      }),
    );
  });
});
