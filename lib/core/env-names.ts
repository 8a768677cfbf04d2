/** Names of the environment variables that stacks set and composition roots read. The only place that spells them. */
export const ENV = {
  stateTable: 'EDOW_STATE_TABLE',
  viewsTable: 'EDOW_VIEWS_TABLE',
  payloadBucket: 'EDOW_PAYLOAD_BUCKET',
  commandsTopic: 'EDOW_COMMANDS_TOPIC_ARN',
  /** FIFO topic of the ordered pools; not set where there are none. */
  orderedTopic: 'EDOW_ORDERED_TOPIC_ARN',
  eventsTopic: 'EDOW_EVENTS_TOPIC_ARN',
  /** Queue that this worker function reads: to change a message's visibility. */
  workQueue: 'EDOW_WORK_QUEUE_URL',
  /** Queue that a stream function sends what it could not handle to; relay's is also the sweeper's, for lost events. */
  retryQueue: 'EDOW_RETRY_QUEUE_URL',
  /** Queue of the projector, for the sweeper's look at its depth. */
  projectQueue: 'EDOW_PROJECT_QUEUE_URL',
  /** JSON: workflow name -> {@link DeployedWorkflow}. */
  workflows: 'EDOW_WORKFLOWS',
  /** JSON: role ARN (of the caller's assumed role, or user ARN) -> tenant. Empty object: everybody is `default`. */
  tenants: 'EDOW_TENANTS',
  /** JSON: command type -> URL of the work queue, for the sweeper's look at its depth. */
  workQueues: 'EDOW_WORK_QUEUES',
  /** JSON: pool -> URL of its dead-letter queue, for the sweeper's look at what died unseen. */
  deadLetterQueues: 'EDOW_DEAD_LETTER_QUEUES',
  /** Seconds of one record before it is handed back. */
  recordSeconds: 'EDOW_RECORD_SECONDS',
  /** Name of an ordered pool; not set for any other. */
  orderedPool: 'EDOW_ORDERED_POOL',
  /** Tasks of one batch that run at the same time. */
  batchConcurrency: 'EDOW_BATCH_CONCURRENCY',
  /** Reference workers: the table that plays the downstream, or the real one's address. */
  stubTable: 'EDOW_STUB_TABLE',
  downstreamUrl: 'EDOW_DOWNSTREAM_URL',
  /** Payout workflow: the table of accounts. */
  accountsTable: 'EDOW_ACCOUNTS_TABLE',
  /** What is deployed: a hash of the code, shown with failures. */
  version: 'EDOW_VERSION',
  logLevel: 'EDOW_LOG_LEVEL',
} as const;

/** What trigger, close and sweep know of a deployed workflow. */
export interface DeployedWorkflow {
  readonly stateMachineArn: string;
  /** Hash of the states' definition: a resume of a run with another one is refused. */
  readonly definition: string;
}
