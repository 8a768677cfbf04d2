import {
  aws_cloudwatch_actions as actions,
  aws_cloudwatch as cloudwatch,
  Duration,
  aws_iam as iam,
  type aws_lambda as lambda,
  Stack,
  type aws_stepfunctions as sfn,
  aws_sns as sns,
} from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { DEPLOYMENT, METRIC, NAMESPACE } from '#core/metric-names.ts';
import type { DeadLetteredQueue } from './dead-lettered-queue.ts';

/** Sections of docs/runbook.md that alarms point to. */
export const RUNBOOK = {
  deadLetters: 'dead-letters',
  deadLettersOld: 'dead-letters-grow-old',
  workWaits: 'work-waits',
  streamBehind: 'stream-behind',
  executionsFailed: 'executions-failed',
  executionsTimedOut: 'executions-timed-out',
  runsHeld: 'runs-held',
  deliveryFailed: 'delivery-failed',
  functionFails: 'function-fails',
  handedBack: 'records-handed-back',
} as const;

interface AlarmOptions {
  readonly metric: cloudwatch.IMetric;
  /** The alarm goes off above this. */
  readonly above: number;
  /** One sentence: what it means. */
  readonly meaning: string;
  readonly runbook: (typeof RUNBOOK)[keyof typeof RUNBOOK];
  /** Periods in a row. Default 1. */
  readonly periods?: number;
}

const MINUTE = Duration.minutes(1);
/** Age in the dead-letter queue. Letters live 14 days from their first send: six at least are left to act. */
const DEAD_LETTER_AGE = Duration.days(4);
/** A work queue keeps a message for 4 days; an hour means that no worker takes them. */
const WORK_AGE = Duration.hours(1);
/** A stream keeps a record for 24 hours. */
const STREAM_AGE = Duration.minutes(5);

/** Every alarm of a deployment: all go to one topic, and each names its section of the runbook. */
export class Alarms extends Construct {
  readonly topic: sns.Topic;
  readonly #alarms: cloudwatch.Alarm[] = [];

  constructor(scope: Construct, id: string) {
    super(scope, id);
    // No key of its own: CloudWatch cannot use the one that AWS keeps for SNS, and an alarm tells names and numbers only.
    this.topic = new sns.Topic(this, 'Topic', { enforceSSL: true });
    // A topic with a policy of its own loses the default one, which let alarms in.
    this.topic.addToResourcePolicy(
      new iam.PolicyStatement({
        sid: 'AlarmsOfThisAccount',
        principals: [new iam.ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [this.topic.topicArn],
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    );
  }

  get all(): readonly cloudwatch.Alarm[] {
    return this.#alarms;
  }

  on(id: string, options: AlarmOptions): void {
    const alarm = new cloudwatch.Alarm(this, id, {
      metric: options.metric,
      threshold: options.above,
      evaluationPeriods: options.periods ?? 1,
      comparisonOperator: cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
      treatMissingData: cloudwatch.TreatMissingData.NOT_BREACHING,
      alarmDescription: `${options.meaning} What to do: docs/runbook.md#${options.runbook}`,
    });
    alarm.addAlarmAction(new actions.SnsAction(this.topic));
    this.#alarms.push(alarm);
  }

  /** Depth and age of dead letters, and how long work waits. */
  onQueue(name: string, { queue, deadLetters }: DeadLetteredQueue): void {
    this.on(`${name}-waits`, {
      metric: queue.metricApproximateAgeOfOldestMessage({ period: MINUTE, statistic: 'Maximum' }),
      above: WORK_AGE.toSeconds(),
      meaning: `The oldest message of ${name} has waited for more than ${WORK_AGE.toHumanString()}.`,
      runbook: RUNBOOK.workWaits,
    });
    this.onDeadLetters(name, deadLetters);
  }

  onDeadLetters(name: string, deadLetters: DeadLetteredQueue['deadLetters']): void {
    this.on(`${name}-dead-letters`, {
      metric: deadLetters.metricApproximateNumberOfMessagesVisible({ period: MINUTE, statistic: 'Maximum' }),
      above: 0,
      meaning: `There are dead letters of ${name}.`,
      runbook: RUNBOOK.deadLetters,
    });
    this.on(`${name}-dead-letters-old`, {
      metric: deadLetters.metricApproximateAgeOfOldestMessage({ period: MINUTE, statistic: 'Maximum' }),
      above: DEAD_LETTER_AGE.toSeconds(),
      meaning: `A dead letter of ${name} is older than ${DEAD_LETTER_AGE.toHumanString()}; it expires after 14 days.`,
      runbook: RUNBOOK.deadLettersOld,
    });
  }

  onStream(name: string, fn: lambda.Function): void {
    this.on(`${name}-behind`, {
      metric: fn.metric('IteratorAge', { period: MINUTE, statistic: 'Maximum' }),
      above: STREAM_AGE.toMilliseconds(),
      periods: 3,
      meaning: `${name} is more than ${STREAM_AGE.toHumanString()} behind the table's stream.`,
      runbook: RUNBOOK.streamBehind,
    });
  }

  onFunction(name: string, fn: lambda.Function): void {
    this.on(`${name}-fails`, {
      metric: fn.metricErrors({ period: MINUTE, statistic: 'Sum' }),
      above: 0,
      periods: 3,
      meaning: `${name} fails again and again.`,
      runbook: RUNBOOK.functionFails,
    });
    this.on(`${name}-throttled`, {
      metric: fn.metricThrottles({ period: MINUTE, statistic: 'Sum' }),
      above: 0,
      periods: 3,
      meaning: `${name} is throttled: the account's concurrency is used up.`,
      runbook: RUNBOOK.functionFails,
    });
  }

  /** Records that two seconds were not enough for, as the function counts them (see runtime/in-time.ts). */
  onHandedBack(name: string, fn: lambda.Function): void {
    this.on(`${name}-hands-back`, {
      metric: new cloudwatch.Metric({
        namespace: NAMESPACE,
        metricName: METRIC.handedBack,
        dimensionsMap: { FunctionName: fn.functionName },
        period: MINUTE,
        statistic: 'Sum',
      }),
      above: 0,
      periods: 3,
      meaning: `${name} does not finish records in time, again and again.`,
      runbook: RUNBOOK.handedBack,
    });
  }

  onMachine(name: string, machine: sfn.StateMachine): void {
    this.on(`${name}-failed`, {
      metric: machine.metricFailed({ period: MINUTE, statistic: 'Sum' }),
      above: 0,
      meaning: `An execution of ${name} failed.`,
      runbook: RUNBOOK.executionsFailed,
    });
    this.on(`${name}-timed-out`, {
      metric: machine.metricTimedOut({ period: MINUTE, statistic: 'Sum' }),
      above: 0,
      meaning: `An execution of ${name} timed out.`,
      runbook: RUNBOOK.executionsTimedOut,
    });
  }

  onTopic(name: string, topic: sns.Topic): void {
    this.on(`${name}-delivery-failed`, {
      metric: topic.metricNumberOfNotificationsFailed({ period: MINUTE, statistic: 'Sum' }),
      above: 0,
      meaning: `SNS could not deliver ${name}.`,
      runbook: RUNBOOK.deliveryFailed,
    });
    this.on(`${name}-attributes-invalid`, {
      metric: topic.metricNumberOfNotificationsFilteredOutInvalidAttributes({
        period: MINUTE,
        statistic: 'Sum',
      }),
      above: 0,
      meaning: `SNS dropped ${name} for their attributes.`,
      runbook: RUNBOOK.deliveryFailed,
    });
  }

  /** Held runs, as sweep and close count them in their logs (embedded metric format, see runtime/metrics.ts). */
  onHeldRuns(stateTableName: string): void {
    this.on('held-runs', {
      metric: new cloudwatch.Metric({
        namespace: NAMESPACE,
        metricName: METRIC.heldRuns,
        dimensionsMap: { [DEPLOYMENT]: stateTableName },
        period: MINUTE,
        statistic: 'Maximum',
      }),
      above: 0,
      meaning: 'Runs are held: a task is dead and waits for a fix and a replay.',
      runbook: RUNBOOK.runsHeld,
    });
  }
}
