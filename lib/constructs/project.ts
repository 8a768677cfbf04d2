import {
  Duration,
  type aws_dynamodb as dynamodb,
  type aws_lambda as lambda,
  type aws_sns as sns,
  aws_sns_subscriptions as subscriptions,
} from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { ENV } from '#core/env-names.ts';
import { onTable } from './access.ts';
import type { Alarms } from './alarms.ts';
import { DeadLetteredQueue } from './dead-lettered-queue.ts';
import { consume, visibilityFor } from './mappings.ts';
import type { Stage } from './stage.ts';
import { StageFunction } from './stage-function.ts';

export interface ProjectProps {
  readonly stage: Stage;
  readonly events: sns.ITopic;
  readonly views: dynamodb.Table;
  readonly alarms: Alarms;
}

const RECEIVES = 10;

/** The first subscriber of the events topic: builds the read models. Other readers bring a queue of their own. */
export class Project extends Construct {
  readonly fn: lambda.Function;
  readonly inbox: DeadLetteredQueue;

  constructor(scope: Construct, id: string, props: ProjectProps) {
    super(scope, id);
    const timeout = Duration.seconds(10);
    this.inbox = new DeadLetteredQueue(this, 'Inbox', {
      stage: props.stage,
      visibilityTimeout: visibilityFor(timeout),
      maxReceiveCount: RECEIVES,
    });
    this.fn = new StageFunction(this, 'Projector', {
      stage: props.stage,
      entry: 'project',
      timeout,
      uses: [onTable(ENV.viewsTable, props.views, ['GetItem', 'PutItem', 'Query'])],
    }).fn;
    props.events.addSubscription(
      new subscriptions.SqsSubscription(this.inbox.queue, { rawMessageDelivery: true }),
    );
    consume(this, 'Feed', this.inbox, this.fn, { maxConcurrency: 5 });
    props.alarms.onQueue('project', this.inbox);
    props.alarms.onFunction('project', this.fn);
  }
}
