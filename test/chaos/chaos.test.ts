/**
 * Chaos on the deployed stack: failing handlers, doubled messages, workers killed between effect and commit, poison;
 * then the fix and a replay. `npm run chaos`: 125 orders (500 tasks), by itself, on a machine that does nothing else.
 * Its small form, 16 orders, is in test/emulator.
 */
import { test } from 'vitest';
import { byChance, SHARES } from '#test/cloud/chaos.ts';
import { ordersInTrouble } from '#test/cloud/chaos-run.ts';
import { suite } from '#test/cloud/suite.ts';

const cloud = suite();
const ORDERS = Number(process.env['EDOW_CHAOS_ORDERS'] ?? 50);
const SEED = process.env['EDOW_CHAOS_SEED'] ?? 'edow';
/** A killed worker's messages come back after their visibility time-out of 60 s; batches may be hit more than once. */
const BOUND_MS = 900_000;

test(`${ORDERS} orders in trouble: every effect once, only the poison is dead, and a replay heals it`, {
  timeout: BOUND_MS + 120_000,
}, async () => {
  const lines = await ordersInTrouble(cloud, {
    orders: ORDERS,
    seed: SEED,
    faultAt: byChance(SEED),
    doubled: SHARES.doubled,
    boundMs: BOUND_MS,
    alone: true,
  });
  console.log(lines.join('\n  '));
});
