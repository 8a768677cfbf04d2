/**
 * What every client of the command line is made with. A person waits: three tries at most, and a lost connection is
 * noticed within seconds.
 */
export const OPERATOR_CLIENT = {
  maxAttempts: 3,
  requestHandler: {
    /** Milliseconds. */
    connectionTimeout: 5_000,
    requestTimeout: 20_000,
    throwOnRequestTimeout: true,
  },
};
