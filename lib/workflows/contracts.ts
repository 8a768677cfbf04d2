/** Contracts of the workflows that the API can start. The team's: one entry a workflow, as in deployed.ts. */
import type { WorkflowContract } from '#core/contract.ts';
import { orderWorkflow } from './order/contract.ts';
import { payoutWorkflow } from './payout/contract.ts';

export const contracts: readonly WorkflowContract[] = [orderWorkflow, payoutWorkflow];
