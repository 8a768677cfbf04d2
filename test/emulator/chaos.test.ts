/**
 * Chaos in its small form: every kind of trouble of `npm run chaos`, each where it costs least time. One worker only is
 * killed, in the first step, where all other orders go on beside the 60 s until its messages are seen again.
 */
import { test } from 'vitest';
import type { FaultAt } from '#test/cloud/chaos.ts';
import { ordersInTrouble } from '#test/cloud/chaos-run.ts';
import { suite } from '#test/cloud/suite.ts';

const cloud = suite();
const ORDERS = 16;
/** The killed worker's batch comes back after its visibility time-out of 60 s, on a busy machine perhaps twice. */
const BOUND_MS = 420_000;

const PLAN: Readonly<Record<string, ReturnType<FaultAt>>> = {
  '0 ReserveStock': 'crash',
  '1 ShipOrder': 'poison',
  '2 ReserveStock': 'error',
  '3 ChargePayment': 'error',
  '4 ShipOrder': 'error',
  '5 NotifyCustomer': 'error',
};

test(`${ORDERS} orders in trouble of every kind: every effect once, only the poison is dead, and a replay heals it`, {
  timeout: BOUND_MS + 120_000,
}, async () => {
  const lines = await ordersInTrouble(cloud, {
    orders: ORDERS,
    seed: 'small',
    faultAt: (place, step) => PLAN[`${place} ${step}`],
    doubled: 0.4,
    boundMs: BOUND_MS,
    alone: false,
  });
  console.log(lines.join('\n  '));
});
