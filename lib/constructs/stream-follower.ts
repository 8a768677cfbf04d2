import type { aws_dynamodb as dynamodb, aws_lambda as lambda } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { ENV } from '#core/env-names.ts';
import { type Access, onQueue } from './access.ts';
import type { Alarms } from './alarms.ts';
import { DeadLetteredQueue } from './dead-lettered-queue.ts';
import { consume, follow, visibilityFor } from './mappings.ts';
import { functionTime, recordTime } from './record-time.ts';
import type { Stage } from './stage.ts';
import { StageFunction } from './stage-function.ts';

export interface StreamFollowerProps {
  readonly stage: Stage;
  /** Name for operators, and the file in lambdas/. */
  readonly name: string;
  readonly state: dynamodb.Table;
  readonly filters: readonly object[];
  readonly uses: readonly Access[];
  readonly alarms: Alarms;
}

/** A key comes back once a visibility time-out: about ten minutes of tries for what a stream record needs. */
const RETRY_RECEIVES = 10;

/**
 * A function that follows the state table's stream. A record that fails goes to the function's own retry queue by its
 * keys, so that one bad record never stops a shard.
 */
export class StreamFollower extends Construct {
  readonly fn: lambda.Function;
  readonly retry: DeadLetteredQueue;

  constructor(scope: Construct, id: string, props: StreamFollowerProps) {
    super(scope, id);
    const { stage, name, alarms } = props;
    const timeout = functionTime(stage);
    this.retry = new DeadLetteredQueue(this, 'Retry', {
      stage,
      visibilityTimeout: visibilityFor(timeout),
      maxReceiveCount: RETRY_RECEIVES,
    });
    this.fn = new StageFunction(this, 'Follower', {
      stage,
      entry: name,
      timeout,
      environment: recordTime(stage),
      uses: [...props.uses, onQueue(ENV.retryQueue, this.retry.queue, ['SendMessage'])],
    }).fn;
    follow(this, 'Stream', props.state, this.fn, {
      filters: props.filters,
      onFailure: this.retry.deadLetters,
    });
    consume(this, 'Again', this.retry, this.fn, { maxConcurrency: 2 });
    alarms.onStream(name, this.fn);
    alarms.onFunction(name, this.fn);
    alarms.onHandedBack(name, this.fn);
    alarms.onQueue(`${name}-retry`, this.retry);
  }
}
