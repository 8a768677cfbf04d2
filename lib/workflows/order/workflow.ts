import { aws_stepfunctions as sfn } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { RunTask } from '#constructs/run-task.ts';
import { fromInput, fromStep } from '#core/mapping.ts';
import { chargePayment, notifyCustomer, reserveStock, shipOrder } from './contract.ts';

/** Reserve, charge, ship, notify; a declined card ends the run. */
export function orderStates(scope: Construct): sfn.IChainable {
  const orderId = fromInput('orderId');
  const customer = fromInput('customer');
  const lines = fromInput('lines');

  const reserve = new RunTask(scope, 'ReserveStock', { task: reserveStock, input: { orderId, lines } });
  const charge = new RunTask(scope, 'ChargePayment', {
    task: chargePayment,
    input: { orderId, customer, lines },
  });
  const ship = new RunTask(scope, 'ShipOrder', {
    task: shipOrder,
    input: {
      orderId,
      lines,
      reservationId: fromStep('ReserveStock', 'reservationId'),
      paymentId: fromStep('ChargePayment', 'paymentId'),
    },
  });
  const notify = new RunTask(scope, 'NotifyCustomer', {
    task: notifyCustomer,
    input: { orderId, customer, shipmentId: fromStep('ShipOrder', 'shipmentId') },
  });
  const declined = new sfn.Fail(scope, 'PaymentDeclined', {
    error: 'PaymentDeclined',
    cause: 'The card was declined.',
  });

  return reserve
    .next(charge)
    .next(
      new sfn.Choice(scope, 'IsPaid')
        .when(sfn.Condition.stringEquals('$.ChargePayment.status', 'declined'), declined)
        .otherwise(ship.next(notify)),
    );
}
