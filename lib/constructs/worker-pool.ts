import {
  Duration,
  type aws_dynamodb as dynamodb,
  type aws_ec2 as ec2,
  type aws_lambda as lambda,
  type aws_s3 as s3,
  type aws_secretsmanager as secretsmanager,
  aws_sns as sns,
  aws_sns_subscriptions as subscriptions,
} from 'aws-cdk-lib';
import { Construct } from 'constructs';
import type { TaskContract } from '#core/contract.ts';
import { ENV } from '#core/env-names.ts';
import { maxReceiveCount } from '#core/retry.ts';
import { type Access, allow, onPayloads, onQueue, onTable } from './access.ts';
import type { Alarms } from './alarms.ts';
import { DeadLetteredQueue } from './dead-lettered-queue.ts';
import { consume, visibilityFor } from './mappings.ts';
import type { Stage } from './stage.ts';
import { StageFunction } from './stage-function.ts';
import type { CommandTopic } from './topics.ts';

/**
 * What a team decides about a pool. Only `tasks` is required.
 * (`I.. | ..` where TypeScript, set to exact optional properties, takes the CDK's own class for another shape.)
 */
export interface PoolOptions {
  /** Contracts of the tasks that the pool's function handles. */
  readonly tasks: readonly TaskContract[];
  /** File in lambdas/ without its ending. Default `worker-<pool>`. */
  readonly entry?: string;
  /** Time-out of the function for a whole batch. Default 10 s. */
  readonly timeout?: Duration;
  /** MB. Default 512. */
  readonly memorySize?: number;
  /** Default arm64. */
  readonly architecture?: lambda.Architecture;
  /** Batches at the same time, 2 to 1,000. Default 10. Protects the downstream. */
  readonly maxConcurrency?: number;
  /** Messages a batch, 1 to 10. Default 10. */
  readonly batchSize?: number;
  /** Tasks of one batch that run at the same time. Default: the whole batch. */
  readonly batchConcurrency?: number;
  /** Default 6 times `timeout`, and never less. */
  readonly visibilityTimeout?: Duration;
  /**
   * Tasks of one key (`orderBy` in their contracts) take effect one after the other, in the order of their commands;
   * one that dies parks its key until it is replayed, resolved or cancelled. Keep such tasks short: a crash blocks its
   * key for the visibility time-out. Messages come one a batch: a waiting one would burn the receives of its followers.
   * Default false.
   */
  readonly ordered?: boolean;
  /** How long a command waits for a worker. Default 4 days. */
  readonly retention?: Duration;
  /** Further variables of the function. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Variable name -> secret: the variable gets the secret's ARN and the function may read it. */
  readonly secrets?: Readonly<Record<string, secretsmanager.ISecret | secretsmanager.Secret>>;
  /** Default: outside any VPC. */
  readonly vpc?: ec2.IVpc | ec2.Vpc;
  /** Default: private subnets with egress. */
  readonly vpcSubnets?: ec2.SubnetSelection;
  /** What handlers need beyond our own tables. Default: nothing. */
  readonly uses?: readonly Access[];
}

export interface WorkerPoolProps extends PoolOptions {
  readonly stage: Stage;
  /** Short name, as operators see it. */
  readonly name: string;
  readonly commands: CommandTopic;
  readonly state: dynamodb.Table;
  readonly payloads: s3.Bucket;
  readonly alarms: Alarms;
}

const BATCH_SIZE = 10;

/**
 * The repeated unit: a queue with its dead letters, the function that reads it, and the subscription to its commands.
 * @example new WorkerPool(this, 'Inventory', { ...shared, name: 'inventory', tasks: [reserveStock] })
 */
export class WorkerPool extends Construct {
  readonly poolName: string;
  /** Command types that it handles. */
  readonly types: readonly string[];
  readonly work: DeadLetteredQueue;
  readonly ordered: boolean;
  readonly fn: lambda.Function;

  constructor(scope: Construct, id: string, props: WorkerPoolProps) {
    super(scope, id);
    const { stage, tasks, commands } = props;
    const timeout = props.timeout ?? Duration.seconds(10);
    this.ordered = props.ordered ?? false;
    const batchSize = props.batchSize ?? (this.ordered ? 1 : BATCH_SIZE);
    this.poolName = props.name;
    this.types = tasks.map((task) => task.type);
    this.work = new DeadLetteredQueue(this, 'Work', {
      stage,
      visibilityTimeout: props.visibilityTimeout ?? visibilityFor(timeout),
      // The tries are counted on the item, never by receives: this is only the bound above them.
      maxReceiveCount: maxReceiveCount(Math.max(1, ...tasks.map((task) => task.retry.tries))),
      ordered: this.ordered,
      ...(props.retention && { retention: props.retention }),
    });
    this.fn = new StageFunction(this, 'Worker', {
      stage,
      entry: props.entry ?? `worker-${props.name}`,
      timeout,
      environment: {
        ...props.environment,
        [ENV.version]: stage.version,
        ...(this.ordered && { [ENV.orderedPool]: props.name }),
        [ENV.batchConcurrency]: String(props.batchConcurrency ?? batchSize),
      },
      ...(props.memorySize && { memorySize: props.memorySize }),
      ...(props.architecture && { architecture: props.architecture }),
      ...(props.vpc && { vpc: props.vpc }),
      ...(props.vpcSubnets && { vpcSubnets: props.vpcSubnets }),
      uses: [
        onQueue(ENV.workQueue, this.work.queue, ['ChangeMessageVisibility']),
        // A parked key is checked in the transaction of a death.
        onTable(
          ENV.stateTable,
          props.state,
          this.ordered ? ['GetItem', 'UpdateItem', 'ConditionCheckItem'] : ['GetItem', 'UpdateItem'],
        ),
        onPayloads(props.payloads, ['GetObject', 'PutObject']),
        ...Object.entries(props.secrets ?? {}).map(([variable, secret]) => readsSecret(variable, secret)),
        ...(props.uses ?? []),
      ],
    }).fn;
    consume(this, 'Feed', this.work, this.fn, { batchSize, maxConcurrency: props.maxConcurrency ?? 10 });
    commands.topicFor(this.ordered).addSubscription(
      new subscriptions.SqsSubscription(this.work.queue, {
        rawMessageDelivery: true,
        filterPolicy: { type: sns.SubscriptionFilter.stringFilter({ allowlist: [...this.types] }) },
      }),
    );
    commands.register(this);
    props.alarms.onQueue(this.poolName, this.work);
    props.alarms.onFunction(`worker-${this.poolName}`, this.fn);
    this.node.addValidation({
      validate: () => [...this.#problems(commands), ...orderProblems(tasks, this.ordered, batchSize)],
    });
  }

  #problems(commands: CommandTopic): string[] {
    if (this.types.length === 0) return ['the pool has no tasks: name at least one contract in "tasks"'];
    return this.types.flatMap((type) => {
      const others = commands.poolsFor(type).filter((pool) => pool !== this);
      const twice = this.types.filter((other) => other === type).length > 1;
      return others.length === 0 && !twice
        ? []
        : [
            `command type ${type} is handled by ${twice ? 'this pool twice' : `pool ${others.map((pool) => pool.node.path).join(', ')} as well`}: each command has one receiver, so list the task in one pool only`,
          ];
    });
  }
}

/** An order that nobody keeps, or a pool that has none to keep. */
function orderProblems(tasks: readonly TaskContract[], ordered: boolean, batchSize: number): string[] {
  const wrong = tasks.filter(({ orderBy }) => (orderBy !== undefined) !== ordered).map(({ type }) => type);
  return [
    ...wrong.map((type) =>
      ordered
        ? `the pool is ordered and task ${type} has no "orderBy": name the input field by which it keeps its order, or put it in another pool`
        : `task ${type} is ordered by a key and its pool is not: set "ordered: true" on the pool`,
    ),
    ...(ordered && batchSize > 1
      ? [
          `batchSize is ${batchSize} in an ordered pool; allowed: 1, for a task that waits would burn the receives of those behind it`,
        ]
      : []),
  ];
}

const readsSecret =
  (variable: string, secret: secretsmanager.ISecret | secretsmanager.Secret): Access =>
  (fn) => {
    allow(fn, 'secretsmanager', ['GetSecretValue'], [secret.secretArn]);
    secret.encryptionKey?.grantDecrypt(fn);
    fn.addEnvironment(variable, secret.secretArn);
  };
