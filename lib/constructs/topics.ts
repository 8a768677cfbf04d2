import { aws_kms as kms, aws_sns as sns } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import type { WorkerPool } from './worker-pool.ts';

/** Topic of ours: TLS only, encrypted with the key that AWS keeps for SNS (publishers need no grant on it). */
export function encryptedTopic(scope: Construct, id: string): sns.Topic {
  return new sns.Topic(scope, id, {
    enforceSSL: true,
    masterKey: kms.Alias.fromAliasName(scope, `${id}Key`, 'alias/aws/sns'),
  });
}

/** The topic of commands, and the worker pools that listen to it: each command type has one pool. */
export class CommandTopic extends Construct {
  readonly topic: sns.Topic;
  readonly #pools: WorkerPool[] = [];

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.topic = encryptedTopic(this, 'Topic');
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
