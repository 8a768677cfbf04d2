import { Duration, aws_sqs as sqs } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import type { Stage } from './stage.ts';

export interface DeadLetteredQueueProps {
  readonly stage: Stage;
  /** At least 6 times the time-out of the function that reads it. */
  readonly visibilityTimeout: Duration;
  /** Receives before a message moves to the dead letters; at least 3. */
  readonly maxReceiveCount: number;
  /** Default 4 days. */
  readonly retention?: Duration;
  /**
   * Longer than `retention`: a moved message keeps its first send time. Default 14 days, the most that SQS takes.
   * @see https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/setting-up-dead-letter-queue-retention.html
   */
  readonly deadLetterRetention?: Duration;
  /** FIFO, both the queue and its dead letters: groups keep their order. Default false. */
  readonly ordered?: boolean;
}

/** The least number of receives that does not send healthy messages away after a throttled poll or two. */
const LEAST_RECEIVES = 3;

/** A queue and its dead letters: the shared unit of pools, subscribers and retry queues. */
export class DeadLetteredQueue extends Construct {
  readonly queue: sqs.Queue;
  readonly deadLetters: sqs.Queue;
  readonly visibilityTimeout: Duration;

  constructor(scope: Construct, id: string, props: DeadLetteredQueueProps) {
    super(scope, id);
    const retention = props.retention ?? Duration.days(4);
    const deadLetterRetention = props.deadLetterRetention ?? Duration.days(14);
    this.visibilityTimeout = props.visibilityTimeout;
    // High throughput: copies are told within a group, and a group has its own limit of 300 calls a second.
    const fifo = props.ordered && {
      fifo: true,
      deduplicationScope: sqs.DeduplicationScope.MESSAGE_GROUP,
      fifoThroughputLimit: sqs.FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
    };
    this.deadLetters = new sqs.Queue(this, 'DeadLetters', {
      ...fifo,
      retentionPeriod: deadLetterRetention,
      encryption: sqs.QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      removalPolicy: props.stage.removalPolicy,
    });
    this.queue = new sqs.Queue(this, 'Queue', {
      ...fifo,
      retentionPeriod: retention,
      visibilityTimeout: props.visibilityTimeout,
      encryption: sqs.QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: props.maxReceiveCount },
    });
    this.node.addValidation({
      validate: () => [
        ...(deadLetterRetention.toSeconds() > retention.toSeconds()
          ? []
          : [
              `dead letters are kept for ${deadLetterRetention.toSeconds()} s, the queue's messages for ${retention.toSeconds()} s: a moved message keeps its age and would expire unread. Keep dead letters longer (up to 14 days) or shorten "retention"`,
            ]),
        ...(props.maxReceiveCount >= LEAST_RECEIVES
          ? []
          : [
              `maxReceiveCount is ${props.maxReceiveCount}: a throttled poll counts as a receive too, so allow at least ${LEAST_RECEIVES}`,
            ]),
      ],
    });
  }
}
