import { aws_kms as kms, aws_sns as sns } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import type { WorkerPool } from './worker-pool.ts';

/** Topic of ours: TLS only, encrypted with the key that AWS keeps for SNS (publishers need no grant on it). */
export function encryptedTopic(scope: Construct, id: string, props: sns.TopicProps = {}): sns.Topic {
  return new sns.Topic(scope, id, {
    ...props,
    enforceSSL: true,
    masterKey: kms.Alias.fromAliasName(scope, `${id}Key`, 'alias/aws/sns'),
  });
}

/** The topic of commands, and the worker pools that listen to it: each command type has one pool. */
export class CommandTopic extends Construct {
  readonly topic: sns.Topic;
  #ordered: sns.Topic | undefined;
  readonly #pools: WorkerPool[] = [];

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.topic = encryptedTopic(this, 'Topic');
  }

  /** The FIFO topic, there since the first ordered pool asked for it: a FIFO queue cannot subscribe to a standard one. */
  get orderedTopic(): sns.Topic | undefined {
    return this.#ordered;
  }

  /** The topic that a pool subscribes to. */
  topicFor(ordered: boolean): sns.Topic {
    if (!ordered) return this.topic;
    this.#ordered ??= encryptedTopic(this, 'Ordered', {
      fifo: true,
      fifoThroughputScope: sns.FifoThroughputScope.MESSAGE_GROUP,
    });
    return this.#ordered;
  }

  get pools(): readonly WorkerPool[] {
    return this.#pools;
  }

  /** Called by each pool for itself. */
  register(pool: WorkerPool): void {
    this.#pools.push(pool);
  }

  poolsFor(commandType: string): readonly WorkerPool[] {
    return this.#pools.filter((pool) => pool.types.includes(commandType));
  }
}
