/** What this clone deploys: its worker pools and its workflows. This file is the team's; a new task is one line here. */
import type { Duration, aws_stepfunctions as sfn } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { Access } from '#constructs/access.ts';
import type { PoolOptions } from '#constructs/worker-pool.ts';
import type { WorkflowContract } from '#core/contract.ts';
import { chargePayment, notifyCustomer, orderWorkflow, reserveStock, shipOrder } from './order/contract.ts';
import { orderStates } from './order/workflow.ts';
import { debitAccount, payoutWorkflow, sendPayout } from './payout/contract.ts';
import { payoutStates } from './payout/workflow.ts';

export interface WorkflowDefinition {
  readonly contract: WorkflowContract;
  readonly states: (scope: Construct) => sfn.IChainable;
  /** Of the whole execution. Default 30 days. */
  readonly timeout?: Duration;
  /** Of the team's own states. Default JSONPath, the CDK's own. */
  readonly queryLanguage?: sfn.QueryLanguage;
}

export const workflows: readonly WorkflowDefinition[] = [
  { contract: orderWorkflow, states: orderStates },
  { contract: payoutWorkflow, states: payoutStates },
];

/** What the reference workers need beyond our own tables. */
export interface Surroundings {
  /** To reach their downstream. */
  readonly downstream: Pick<PoolOptions, 'environment'> & { readonly uses: readonly Access[] };
  /** The table of accounts. */
  readonly accounts: Access;
}

/** Pools by name; the function of pool `x` is lambdas/worker-x.ts. */
export const pools = ({ downstream, accounts }: Surroundings): Readonly<Record<string, PoolOptions>> => ({
  inventory: { tasks: [reserveStock], ...downstream },
  payment: { tasks: [chargePayment], ...downstream },
  shipping: { tasks: [shipOrder], ...downstream },
  notification: { tasks: [notifyCustomer], ...downstream },
  ledger: {
    tasks: [debitAccount, sendPayout],
    ordered: true,
    ...downstream,
    uses: [...downstream.uses, accounts],
  },
});
