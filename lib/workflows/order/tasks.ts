/** Handlers of the reference workflow. Each calls its downstream with the task's idempotency key. */
import { handle, type TaskContext, type TaskHandler } from '#core/contract.ts';
import type { Downstream } from '#core/downstream.ts';
import { PermanentError } from '#core/errors.ts';
import { chargePayment, notifyCustomer, reserveStock, shipOrder } from './contract.ts';

/** Cards are declined above this sum: the reference downstream's own rule. */
const CARD_LIMIT_CENTS = 1_000_000;

const call = async (
  downstream: Downstream,
  operation: string,
  body: Record<string, unknown>,
  ctx: TaskContext,
): Promise<string> => {
  const { idempotencyKey, signal } = ctx;
  const answer = await downstream.call({ operation, idempotencyKey, body, signal });
  if (typeof answer['id'] !== 'string') throw new PermanentError(`${operation} answered without an id`);
  return answer['id'];
};

export const inventory = (downstream: Downstream): TaskHandler[] => [
  handle(reserveStock, async (input, ctx) => ({
    reservationId: await call(downstream, 'inventory/reservations', input, ctx),
  })),
];

export const payment = (downstream: Downstream): TaskHandler[] => [
  handle(chargePayment, async ({ lines, ...order }, ctx) => {
    const amountCents = lines.reduce((sum, line) => sum + line.quantity * line.unitPriceCents, 0);
    if (amountCents > CARD_LIMIT_CENTS) return { status: 'declined' as const, amountCents };
    const paymentId = await call(downstream, 'payment/charges', { ...order, amountCents }, ctx);
    return { status: 'charged' as const, amountCents, paymentId };
  }),
];

export const shipping = (downstream: Downstream): TaskHandler[] => [
  handle(shipOrder, async (input, ctx) => ({
    shipmentId: await call(downstream, 'shipping/parcels', input, ctx),
  })),
];

export const notification = (downstream: Downstream): TaskHandler[] => [
  handle(notifyCustomer, async (input, ctx) => ({
    notificationId: await call(downstream, 'notification/messages', input, ctx),
  })),
];
