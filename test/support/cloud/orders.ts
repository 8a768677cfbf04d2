/** Orders for the reference workflow, and its steps as they are deployed. */
import { randomUUID } from 'node:crypto';

export interface Order {
  readonly orderId: string;
  readonly customer: { readonly id: string };
  readonly lines: readonly { sku: string; quantity: number; unitPriceCents: number }[];
}

/** Nobody has used this id before, in no run of any suite. */
export const freshId = (what: string): string => `${what}-${randomUUID().slice(0, 18)}`;

/** An order of 43.90 whose card is good. */
export const anOrder = (what = 'order', changes: Partial<Order> = {}): Order => ({
  orderId: freshId(what),
  customer: { id: 'customer-1' },
  lines: [
    { sku: 'teapot', quantity: 1, unitPriceCents: 3_490 },
    { sku: 'cup', quantity: 2, unitPriceCents: 450 },
  ],
  ...changes,
});

/** Steps in their order: the key in the state machine, and the downstream's operation behind each. */
export const STEPS = [
  { step: 'ReserveStock', operation: 'inventory/reservations', pool: 'inventory' },
  { step: 'ChargePayment', operation: 'payment/charges', pool: 'payment' },
  { step: 'ShipOrder', operation: 'shipping/parcels', pool: 'shipping' },
  { step: 'NotifyCustomer', operation: 'notification/messages', pool: 'notification' },
] as const;
export type StepKey = (typeof STEPS)[number]['step'];
