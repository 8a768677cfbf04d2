/** The reference workflow: reserve stock, charge the payment, ship, notify. */
import * as z from 'zod/mini';
import { defineTask, defineWorkflow } from '#core/contract.ts';

const id = z.string().check(z.minLength(1), z.maxLength(64));
const line = z.object({
  sku: id,
  quantity: z.int().check(z.positive(), z.maximum(1000)),
  unitPriceCents: z.int().check(z.nonnegative(), z.maximum(100_000_000)),
});
const lines = z.array(line).check(z.minLength(1), z.maxLength(100));
const customer = z.object({ id });

/** Input of a run. */
export const order = z.object({ orderId: id, customer, lines });

export const reserveStock = defineTask({
  type: 'inventory.stock.reserve',
  version: 1,
  input: z.object({ orderId: id, lines }),
  output: z.object({ reservationId: z.string() }),
  event: 'inventory.stock.reserved',
  timeoutSeconds: 600,
  undo: 'inventory.stock.release',
});

export const chargePayment = defineTask({
  type: 'payment.card.charge',
  version: 1,
  input: z.object({ orderId: id, customer, lines }),
  output: z.object({
    status: z.enum(['charged', 'declined']),
    amountCents: z.int(),
    paymentId: z.optional(z.string()),
  }),
  event: 'payment.card.charged',
  expose: ['status'],
  timeoutSeconds: 600,
  undo: 'payment.card.refund',
});

export const shipOrder = defineTask({
  type: 'shipping.parcel.ship',
  version: 1,
  input: z.object({ orderId: id, lines, reservationId: z.string(), paymentId: z.string() }),
  output: z.object({ shipmentId: z.string() }),
  event: 'shipping.parcel.shipped',
  timeoutSeconds: 600,
  undo: 'shipping.parcel.cancel',
});

export const notifyCustomer = defineTask({
  type: 'notification.customer.notify',
  version: 1,
  input: z.object({ orderId: id, customer, shipmentId: z.string() }),
  output: z.object({ notificationId: z.string() }),
  event: 'notification.customer.notified',
  timeoutSeconds: 600,
  undo: { none: 'a message that was read cannot be taken back' },
});

export const orderWorkflow = defineWorkflow({
  name: 'order',
  input: order,
  tasks: [reserveStock, chargePayment, shipOrder, notifyCustomer],
});
