/**
 * What every SDK client of a function is made with. Retries belong to the queue: a client tries twice
 * at most, to ride out one lost connection.
 *
 * A call ends within 2 * (1 s + 3 s) + 0.1 s of back-off = 8.1 s, inside the 10 s of a function's time-out, and one
 * try within 4 s, inside the 15 s that are waited after a lease: a write of a process that was given up cannot
 * arrive after the next claim.
 *
 * Where a record has a time of its own (two seconds, see runtime/in-time.ts) a call ends with it at the latest,
 * whatever stands here: call.ts hands the record's signal to each client.
 */
export const CLIENT = {
  maxAttempts: 2,
  retryMode: 'standard',
  requestHandler: {
    /** Milliseconds. A connection inside a region stands within 10; a full second means that it is lost. */
    connectionTimeout: 1_000,
    /** Milliseconds, request and response. DynamoDB answers within 10, Step Functions within 300. */
    requestTimeout: 3_000,
    /** Without it the SDK only warns and waits on. */
    throwOnRequestTimeout: true,
  },
};
