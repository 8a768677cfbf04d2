import type { aws_stepfunctions as sfn } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { RunTask } from '#constructs/run-task.ts';
import { fromInput } from '#core/mapping.ts';
import { debitAccount, sendPayout } from './contract.ts';

/** Debit, then send. */
export function payoutStates(scope: Construct): sfn.IChainable {
  const input = {
    payoutId: fromInput('payoutId'),
    account: fromInput('account'),
    amountCents: fromInput('amountCents'),
  };
  const debit = new RunTask(scope, 'DebitAccount', { task: debitAccount, input });
  return debit.next(new RunTask(scope, 'SendPayout', { task: sendPayout, input }));
}
