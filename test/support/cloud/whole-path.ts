/**
 * Everything that the deployed system does, once, in three parts: an order, a payout, and a sweep over what fell through.
 * Any grant that is missing stops one of them somewhere.
 */
import type { Deployed } from './deployed.ts';
import { orderPath } from './order-path.ts';
import { payoutPath } from './payout-path.ts';
import { sweepPath } from './sweep-path.ts';
import type { Bounds } from './until.ts';

/** Of each single wait. */
export type Pace = Bounds & Required<Pick<Bounds, 'withinMs'>>;

export const wholePath = (system: Deployed) => ({
  order: orderPath(system),
  payout: payoutPath(system),
  sweep: sweepPath(system),
});
