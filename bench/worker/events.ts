/** Batches of commands as Lambda hands them over. */
/** Records of a batch. */
export const BATCH = 10;

let number = 0;
/** @param from number of the first task; default: after the last one */
export function event(from = number) {
  number = from;
  const Records = Array.from({ length: BATCH }, () => {
    number += 1;
    const runid = `01M8MGTES5BQPMCY5C${String(number).padStart(8, '0')}`;
    const body = JSON.stringify({
      specversion: '1.0',
      id: `${runid}/ReserveStock/0`,
      source: 'urn:edow:workflow:order',
      type: 'inventory.stock.reserve',
      time: '2026-11-01T00:00:00.000Z',
      subject: runid,
      datacontenttype: 'application/json',
      dataschema: 'urn:edow:schema:inventory.stock.reserve:1',
      data: {
        orderId: `order-${number}`,
        lines: [
          { sku: 'teapot', quantity: 1, unitPriceCents: 3490 },
          { sku: 'cup', quantity: 2, unitPriceCents: 450 },
        ],
      },
      correlationid: runid,
      causationid: runid,
      traceparent: '00-11111111111111111111111111111111-2222222222222222-01',
      tenant: 'default',
      workflow: 'order',
      runid,
      step: 'ReserveStock',
      execution: 10000,
      entry: 0,
      deadline: '2099-01-01T00:00:00.000Z',
      trylimit: 5,
    });
    return {
      messageId: `message-${number}`,
      receiptHandle: `receipt-${number}`,
      body,
      attributes: { ApproximateReceiveCount: '1', SentTimestamp: String(Date.now()) },
      messageAttributes: {},
      eventSource: 'aws:sqs',
    };
  });
  return { Records };
}

export const context = {
  awsRequestId: 'request-1',
  functionName: 'worker',
  functionVersion: '1',
  invokedFunctionArn: 'arn:aws:lambda:us-east-1:000000000000:function:worker',
  memoryLimitInMB: '512',
  getRemainingTimeInMillis: () => 10_000,
};
