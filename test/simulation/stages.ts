/** Invocations of the stages: the real flows and the real batch and stream handling, each on an actor's ports. */
import type { SQSRecord } from 'aws-lambda';
import { closer } from '#core/close.ts';
import { collector } from '#core/collect.ts';
import { dispatcher } from '#core/dispatch.ts';
import { DISPATCH_FAILED, type DispatchRequest } from '#core/dispatch-request.ts';
import type { DeployedWorkflow } from '#core/env-names.ts';
import { asStep } from '#core/items.ts';
import type { Log } from '#core/ports.ts';
import { relayer } from '#core/relay.ts';
import { sweeper } from '#core/sweep.ts';
import { letterSweeper } from '#core/sweep-letters.ts';
import { type Accepted, type RunRequest, trigger } from '#core/trigger.ts';
import { batch } from '#runtime/batch.ts';
import type { StageContext } from '#runtime/chain.ts';
import { type EndDetail, endOfExecution } from '#runtime/end-event.ts';
import { inTime, RECORD_MS, within } from '#runtime/in-time.ts';
import { byImage, byKey, streamHandler } from '#runtime/stream.ts';
import { eachChange, tenTogether } from '#runtime/stream-work.ts';
import { ENDED_MS, LETTERS_MS } from '#runtime/sweep-entry.ts';
import type { Actor, Actors, Ended } from './actors.ts';
import type { Books } from './books.ts';
import type { Faults } from './faults.ts';
import type { Plan } from './plan.ts';
import type { ActorPorts, PortsFor } from './ports.ts';
import { type Queue, type Received, unfinishedOf } from './queues.ts';
import type { Random } from './random.ts';
import type { Tables } from './tables.ts';
import type { tasksOf } from './tasks.ts';
import { type WarmWorker, warmWorkers } from './warm.ts';

export interface StageParts {
  readonly plan: Plan;
  readonly faults: Faults;
  readonly random: Random;
  readonly actors: Actors;
  readonly tables: Tables;
  readonly books: Books;
  readonly portsFor: PortsFor;
  readonly handlerFor: ReturnType<typeof tasksOf>;
  readonly deployed: () => ReadonlyMap<string, DeployedWorkflow>;
}

/** Time-outs of the functions, milliseconds. */
export const FUNCTION_MS = 10_000;
/** Name of the ordered pool and its queue. */
export const ORDERED_POOL = 'ordered';
const SWEEP_MS = 50_000;
/** A sweep whose calls are slow has so much for all. */
const CUT_MS = [0, 8000] as const;

/** An SQS record as Lambda hands it over. */
const recordOf = ({ message, receiptHandle, receiveCount }: Received): SQSRecord => ({
  messageId: message.id,
  receiptHandle,
  body: message.body,
  attributes: {
    ApproximateReceiveCount: String(receiveCount),
    SentTimestamp: String(message.sentAt),
    SenderId: 'sender',
    ApproximateFirstReceiveTimestamp: String(message.sentAt),
  },
  messageAttributes: { replay: { stringValue: String(message.replay), dataType: 'Number' } },
  md5OfBody: '',
  eventSource: 'aws:sqs',
  eventSourceARN: 'arn',
  awsRegion: 'us-east-1',
});

export function stagesOf(parts: StageParts) {
  const { plan, faults, random, actors, tables, books, portsFor, deployed } = parts;

  const contextOf = (actor: Actor, log: Log) =>
    ({ log, deadlineAt: actor.deadline + actor.skew }) as StageContext;
  const portsAndStore = (actor: Actor) => ({
    ...portsFor(actor),
    store: tables.store(actor),
    clock: actor.clock,
    workflows: deployed(),
  });

  /** Processes by queue. */
  const warm = new Map<Queue, ReturnType<typeof warmWorkers>>();

  function work(
    queue: Queue,
    received: readonly Received[],
    done: (left: readonly string[] | 'failed') => void,
  ) {
    const ordered = queue.name === ORDERED_POOL;
    const processes = warm.get(queue) ?? warmWorkers(parts, ordered ? queue.name : undefined);
    warm.set(queue, processes);
    let mine: WarmWorker;
    actors.spawn(
      'worker',
      FUNCTION_MS,
      (actor) => {
        mine = processes.take(actor);
        const one = async (record: SQSRecord) => {
          // What counts is the reason of the last receive.
          books.reasons.delete(record.messageId);
          try {
            return await mine.process({
              body: record.body,
              messageId: record.messageId,
              receiveCount: Number(record.attributes.ApproximateReceiveCount),
              sentAt: Number(record.attributes.SentTimestamp),
              replay: Number(record.messageAttributes['replay']?.stringValue),
              deadlineAt: actor.deadline + actor.skew,
              signal: NEVER,
              log: actors.log(actor, (message) => books.reasons.set(record.messageId, message)),
            });
          } catch (error) {
            books.reasons.set(record.messageId, 'record failed unexpectedly');
            throw error;
          }
        };
        const options = {
          concurrency: plan.batchConcurrency,
          visibility: portsFor(actor).visibility(queue),
          ordered,
        };
        return batch(one, options)({ Records: received.map(recordOf) }, contextOf(actor, actors.log(actor)));
      },
      (how) => {
        if (how !== 'killed') processes.giveBack(mine);
        done(unfinishedOf(how));
      },
    );
  }

  function dispatch(request: DispatchRequest, ended: (how: Ended<void>) => void): void {
    actors.spawn(
      'dispatch',
      FUNCTION_MS,
      async (actor) => {
        const ports = portsAndStore(actor);
        // As the lambda does: a thrown error may go unseen, so that the token is told.
        try {
          await inTime(() => dispatcher(ports).dispatch(request, actors.log(actor)));
        } catch (error) {
          const name = error instanceof Error ? error.name : 'unknown';
          await within(RECORD_MS, () =>
            ports.answers.fail(request.token, DISPATCH_FAILED, `dispatch failed: ${name}`),
          );
        }
      },
      ended,
    );
  }

  type StreamHandler = ReturnType<typeof streamHandler>;
  type StreamEvent = Parameters<StreamHandler>[0];

  function collect(event: StreamEvent, retries: RetriesFor, ended: (how: StreamEnd) => void): void {
    actors.spawn(
      'collect',
      FUNCTION_MS,
      (actor) => {
        const ports = portsAndStore(actor);
        const one = collector(ports).collect;
        const handler = streamHandler(
          { aside: byKey(ports.store), retries: retries(actor) },
          eachChange(({ after }, log) => one(asStep(after), log)),
        );
        return handler(event, contextOf(actor, actors.log(actor)));
      },
      ended,
    );
  }

  function relay(event: StreamEvent, retries: RetriesFor, ended: (how: StreamEnd) => void): void {
    actors.spawn(
      'relay',
      FUNCTION_MS,
      (actor) => {
        const ports: ActorPorts = portsFor(actor);
        const { relay: tell } = relayer(ports.events);
        const handler = streamHandler({ aside: byImage, retries: retries(actor) }, tenTogether(tell));
        return handler(event, contextOf(actor, actors.log(actor)));
      },
      ended,
    );
  }

  function close(detail: EndDetail, ended: (how: Ended<void>) => void): void {
    actors.spawn(
      'close',
      FUNCTION_MS,
      async (actor) => {
        const ports = portsAndStore(actor);
        const log = actors.log(actor);
        await inTime(async () => {
          const end = await endOfExecution(detail, ports.executions, log);
          if (end) await closer(ports).close(end.runId, end.execution, end.state, log);
        });
      },
      ended,
    );
  }

  function sweep(now: number): void {
    const cut = faults.strikes('sweep cut short');
    let failed = cut;
    actors.spawn(
      'sweep',
      SWEEP_MS,
      async (actor) => {
        actor.slow = cut;
        const until = cut ? actor.clock.now() + random.between(...CUT_MS) : actor.deadline + actor.skew;
        const ports = portsAndStore(actor);
        const log = actors.log(actor, () => {
          failed = true;
        });
        await sweeper({ ...ports, closer: closer(ports) }).sweep(log, until - (cut ? 0 : ENDED_MS));
        await letterSweeper(ports).sweepLetters(log, until - (cut ? 0 : LETTERS_MS));
      },
      (how) => {
        if (how !== 'killed' && 'value' in how && !failed) books.swept.last = now;
      },
    );
  }

  function start(request: RunRequest, ended: (how: Ended<Accepted>) => void): void {
    actors.spawn(
      'trigger',
      FUNCTION_MS,
      async (actor) => {
        const workflow = deployed().get(request.workflow);
        if (workflow === undefined) throw new Error(`no workflow ${request.workflow}`);
        return trigger(portsAndStore(actor)).start(request, workflow, actors.log(actor));
      },
      ended,
    );
  }

  return { work, dispatch, collect, relay, close, sweep, start, portsAndStore, deployed };
}

export type Stages = ReturnType<typeof stagesOf>;
export type RetriesFor = (actor: Actor) => Parameters<typeof streamHandler>[0]['retries'];
export type StreamEnd = Ended<Awaited<ReturnType<ReturnType<typeof streamHandler>>>>;
/** Handlers here look at the time themselves. */
const NEVER = new AbortController().signal;
