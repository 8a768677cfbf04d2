import type { aws_logs as logs, RemovalPolicy } from 'aws-cdk-lib';

/** What constructs need to know of the stage that they are deployed to. The values stand in stacks/stages.ts. */
export interface Stage {
  readonly name: string;
  /** What becomes of tables, bucket, dead-letter queues and logs when their stack goes. */
  readonly removalPolicy: RemovalPolicy;
  readonly logRetention: logs.RetentionDays;
  readonly logLevel: 'debug' | 'info';
  /** Logs and traces of state machines: on wherever the cloud has them. */
  readonly executionLogs: boolean;
  /**
   * The ARNs that states:SendTask* is granted on: `machines` as AWS takes them, `*` where the cloud at hand can check
   * nothing narrower.
   */
  readonly answerOn: 'machines' | '*';
  /**
   * Time of one record of dispatch, collect, relay and close before it is handed back: 2 on AWS, longer where the whole
   * cloud shares two cores. Their functions have eight seconds more.
   */
  readonly recordSeconds: number;
  /** IAM actions that publishing takes: AWS counts PublishBatch as `sns:Publish`. */
  readonly publishActions: readonly string[];
  /** IAM actions that releasing received messages takes: AWS counts the batch as `sqs:ChangeMessageVisibility`. */
  readonly releaseActions: readonly string[];
  /** Hash of the code: told with every failure. */
  readonly version: string;
}
