/** The ports' contracts on the in-memory adapters. */
import { describe } from 'vitest';
import type { Command } from '#core/envelope.ts';
import { manualClock } from '#test/memory/determinate.ts';
import { memoryPayloads } from '#test/memory/payloads.ts';
import {
  memoryDeadLetters,
  memoryQueue,
  memoryQueueDepth,
  memoryRetelling,
  memoryRetryQueue,
} from '#test/memory/queues.ts';
import { memoryAnswers, memoryExecutions } from '#test/memory/state-machines.ts';
import { memoryStore } from '#test/memory/store.ts';
import { memoryTopic } from '#test/memory/topic.ts';
import { memoryViews } from '#test/memory/views.ts';
import { payloadsContract } from './payloads.contract.ts';
import { queuesContract } from './queues.contract.ts';
import { retellingContract } from './retelling.contract.ts';
import { stateMachinesContract } from './state-machines.contract.ts';
import { storeContract } from './store.contract.ts';
import { topicContract } from './topic.contract.ts';
import { viewsContract } from './views.contract.ts';

describe('store', () => storeContract(async () => memoryStore()));

describe('views', () => viewsContract(async () => memoryViews()));

describe('payloads', () =>
  payloadsContract(async () => {
    const payloads = memoryPayloads();
    return {
      payloads,
      remove: async (key) => void payloads.objects.delete(key),
      damage: async (key, bytes) => void payloads.objects.set(key, Buffer.from(bytes)),
      kept: async (key) => payloads.objects.get(key) ?? Buffer.alloc(0),
    };
  }));

describe('topic', () =>
  topicContract(async () => {
    const bodies: string[] = [];
    const topic = memoryTopic<Command>((command) => bodies.push(JSON.stringify(command)));
    return { publish: topic.publish, received: async () => bodies.splice(0) };
  }));

describe('task tokens and executions', () =>
  stateMachinesContract(async () => {
    const stateMachineArn = 'arn:aws:states:eu-west-1:111122223333:stateMachine:order';
    const executions = memoryExecutions(({ name }) => answers.open(`token-of-${name}`));
    const answers = memoryAnswers(({ token, output, error, cause }) =>
      executions.end(
        stateMachineArn,
        token.replace('token-of-', ''),
        output === undefined
          ? { status: 'FAILED', error: error as string, cause: cause as string }
          : { status: 'SUCCEEDED', output },
      ),
    );
    return {
      answers,
      executions,
      stateMachineArn,
      token: async (name) => `token-of-${name}`,
      settled: async () => {},
    };
  }));

describe('queues', () =>
  queuesContract(async () => {
    const queue = memoryQueue(manualClock());
    const retryQueue = memoryRetryQueue();
    const letters = memoryDeadLetters(manualClock(Date.now()), ['work']);
    return {
      visibility: queue.visibility,
      retryQueue,
      depth: memoryQueueDepth(new Map([['inventory.stock.reserve', queue]])),
      letters,
      bury: async (body) => void letters.add('work', body),
      enqueue: async () => queue.send('{}'),
      receive: async () => queue.receive()?.receiptHandle,
      retries: async () => [...retryQueue.records],
    };
  }));

describe('retelling', () =>
  retellingContract(async () => {
    const projector = memoryQueue(manualClock());
    const retelling = memoryRetelling(projector);
    return {
      retelling,
      enqueue: async () => projector.send('{}'),
      receive: async () => void projector.receive(),
      told: async () => retelling.told.splice(0),
    };
  }));
