/** Every port as one actor has it: each call is an await at which the actor may end. */
import { ulid } from '#adapters/system.ts';
import type { DeployedWorkflow } from '#core/env-names.ts';
import type { Command, Envelope } from '#core/envelope.ts';
import type {
  Answers,
  Commands,
  DeadLetterPeek,
  Events,
  Executions,
  Ids,
  Payloads,
  QueueDepth,
  Retelling,
  ViewRows,
  Visibility,
} from '#core/ports.ts';
import { project } from '#core/project.ts';
import { byImage } from '#runtime/stream.ts';
import { memoryPayloads } from '#test/memory/payloads.ts';
import { memoryViews } from '#test/memory/views.ts';
import { type Actor, type Actors, type CallFaults, LOST_MS } from './actors.ts';
import type { Books } from './books.ts';
import { SUBSCRIBERS } from './books.ts';
import type { Clockwork } from './clockwork.ts';
import type { Faults } from './faults.ts';
import type { Machine } from './machine.ts';
import type { Plan, PlannedWorkflow } from './plan.ts';
import type { Message, Queue } from './queues.ts';
import type { Random } from './random.ts';

export interface PortParts {
  readonly plan: Plan;
  readonly clockwork: Clockwork;
  readonly faults: Faults;
  readonly actors: Actors;
  readonly random: Random;
  readonly books: Books;
  readonly machine: Machine;
  /** Work queues by command type. */
  readonly pools: ReadonlyMap<string, Queue>;
  /** Retry queue of relay: known once the streams are. */
  readonly relayRetry: () => Queue;
  /** What an execution that starts now is made of. */
  readonly workflowOf: (arn: string) => PlannedWorkflow | undefined;
}

export interface ActorPorts {
  readonly answers: Answers;
  readonly executions: Executions;
  readonly commands: Commands;
  readonly events: Events;
  readonly payloads: Payloads;
  readonly queues: QueueDepth;
  readonly letters: DeadLetterPeek;
  readonly views: Pick<ViewRows, 'putDead' | 'timeline'>;
  readonly retelling: Retelling;
  readonly ids: Ids;
  visibility(queue: Queue): Visibility;
}

/** A topic hands a message to a queue within so many milliseconds, late by a fault: its send time is that of the queue. */
const LATE_MS = 40_000;
const LATE_DOUBLE_MS = 9000;
const OVERTAKEN_MS = [20_000, LATE_MS] as const;
/** Fits no schema. */
const DAMAGED = [{ value: 'text' }];
/** A queue may keep a message to itself for a while. */
const HIDDEN_MS = [20_000, 240_000] as const;
/** From a message's coming until somebody who has just missed it learns how many there are. */
const COMES_MS = [50, 800] as const;
const ASKED_MS = 420_000;
/** The projector does nothing for so long. */
const BEHIND_MS = [60_000, 900_000] as const;

export function portsOf(parts: PortParts) {
  const { clockwork, faults, actors, random, books, machine, pools, workflowOf } = parts;
  const payloads = memoryPayloads();
  const views = memoryViews({ copies: false });
  let toProject = 0;
  const poolOf = (name: string) => [...pools.values()].find((queue) => queue.name === name);
  const bytes = (count: number): Buffer => {
    const drawn = Buffer.allocUnsafe(count);
    for (let at = 0; at < count; at += 1) drawn[at] = random.between(0, 255);
    return drawn;
  };
  const hex = (count: number): string => bytes(count).toString('hex');

  /** How long a queue keeps a message to itself. */
  const hiding = (): { hiddenMs?: number; untilAsked?: boolean } => {
    if (faults.strikes('message comes with the sweep')) return { hiddenMs: ASKED_MS, untilAsked: true };
    return faults.strikes('message hidden') ? { hiddenMs: random.between(...HIDDEN_MS) } : {};
  };

  const lastArrival = new Map<string, number>();
  /** FIFO topic and queue: neither doubles nor overtakes. What is sent past the topic waits for nobody there. */
  function deliverInOrder(queue: Queue, command: Command, lane: string, direct: boolean): void {
    const latest = direct ? LATE_DOUBLE_MS : LATE_MS;
    const late = faults.strikes('message late') ? random.between(1000, latest) : random.between(5, 80);
    const at = Math.max(direct ? 0 : (lastArrival.get(lane) ?? 0), clockwork.now() + late);
    if (!direct) lastArrival.set(lane, at);
    const hidden = hiding();
    clockwork.at(at, () => {
      books.arrived(command.id, lane);
      queue.send({ body: JSON.stringify(command), origin: 'topic', ...hidden });
    });
  }

  /** @param direct past the topic and its filters, as the sweeper sends */
  function deliver(command: Command, direct: boolean): void {
    const queue = pools.get(command.type);
    if (queue === undefined || (!direct && faults.strikes('message dropped by a filter'))) return;
    if (command.partitionkey !== undefined) {
      deliverInOrder(queue, command, command.partitionkey, direct);
      return;
    }
    const doubled = faults.strikes('message doubled');
    // A double that comes later than the grace after a death would look like a redrive: topics are quicker than that.
    const damaged = faults.strikes('message damaged');
    const latest = doubled || damaged || direct ? LATE_DOUBLE_MS : LATE_MS;
    const send = (copy: Command): void => {
      const delay = faults.strikes('message late') ? random.between(1000, latest) : random.between(5, 80);
      const hidden = hiding();
      clockwork.at(clockwork.now() + delay, () =>
        queue.send({ body: JSON.stringify(copy), origin: 'topic', ...hidden }),
      );
    };
    send(command);
    if (doubled) send(command);
    if (damaged) send({ ...command, data: DAMAGED });
  }

  /** By then the copy of the next entry has come, and may have had its end. */
  function deliverLate(command: Command): void {
    const at = clockwork.now() + random.between(...OVERTAKEN_MS);
    clockwork.at(at, () => pools.get(command.type)?.send({ body: JSON.stringify(command), origin: 'topic' }));
  }

  let behindUntil = 0;
  function tell(event: Envelope): void {
    if (faults.strikes('projector behind')) behindUntil = clockwork.now() + random.between(...BEHIND_MS);
    for (const subscriber of SUBSCRIBERS) {
      toProject += subscriber === 'project' ? 1 : 0;
      const from = subscriber === 'project' ? Math.max(behindUntil, clockwork.now()) : clockwork.now();
      clockwork.at(from + random.between(5, 200), () => {
        books.told(subscriber, event);
        if (subscriber !== 'project') return;
        toProject -= 1;
        clockwork.wakes();
        void project(views, event);
      });
    }
  }

  const known = new WeakMap<Actor, ActorPorts>();
  return function portsFor(actor: Actor): ActorPorts {
    const ports = known.get(actor) ?? portsOfActor(actor);
    known.set(actor, ports);
    return ports;
  };

  function portsOfActor(actor: Actor): ActorPorts {
    const call = <T>(what: string, apply: () => T, known?: CallFaults): Promise<T> =>
      actors.call(actor, what, apply, known);
    const token = { refused: ['token answer throttled'], lost: 'token answer lost' } as const;
    const bucket = { refused: ['payloads unavailable'] } as const;
    return {
      answers: {
        succeed: (id, output) => call(`succeed ${id}`, () => machine.succeed(id, output), token),
        fail: (id, error, cause) => call(`fail ${id}`, () => machine.fail(id, error, cause), token),
      },
      executions: {
        start: (arn, name, input) =>
          call(
            `start ${name}`,
            () => {
              const workflow = workflowOf(arn);
              if (workflow === undefined) throw new Error(`no state machine ${arn}`);
              return faults.strikes('start throttled') ? 'throttled' : machine.start(workflow, name, input);
            },
            { lost: 'start answer lost' },
          ),
        describe: (_arn, name) =>
          call(`describe ${name}`, () => machine.describe(name), { refused: ['describe throttled'] }),
      },
      commands: {
        publish: (commands) => {
          let overtaken = false;
          return call(
            `publish ${commands.map(({ id }) => id.slice(26)).join()}`,
            () => {
              if (faults.strikes('commands not taken')) return commands.map(({ id }) => id);
              const isFree = actor.role === 'dispatch' && commands.every(({ partitionkey }) => !partitionkey);
              overtaken = isFree && faults.strikes('command overtaken by its retry');
              for (const command of commands)
                if (overtaken) deliverLate(command);
                else deliver(command, actor.role === 'sweep' || actor.role === 'operator');
              return [];
            },
            {
              lost: () =>
                overtaken || faults.strikes('commands answer lost') ? random.between(...LOST_MS) : undefined,
            },
          );
        },
      },
      events: {
        publish: (events) =>
          call(`tell ${events.length} events`, () => {
            const left = events.filter(() => faults.strikes('events not taken')).map(({ id }) => id);
            for (const event of events) if (!left.includes(event.id)) tell(event);
            return left;
          }),
      },
      payloads: {
        put: (key, text) => actors.call(actor, 'put payload', () => payloads.put(key, text), bucket),
        get: (pointer, tenant) =>
          actors.call(actor, 'get payload', () => payloads.get(pointer, tenant), bucket),
      },
      queues: {
        async waiting(type) {
          const queue = pools.get(type);
          const waiting = await call('queue depth', () => queue?.waiting());
          const came = queue?.reveal(({ untilAsked, receives }) => untilAsked && receives === 0) ?? 0;
          // By the time the answer is here its worker is at it.
          if (came > 0)
            await call('answer of queue depth', () => undefined, { takes: random.between(...COMES_MS) });
          return waiting;
        },
      },
      letters: {
        pools: [...new Set([...pools.values()].map(({ name }) => name))],
        // As of open runs: no await for a queue that holds nothing.
        peek: async (name, limit) =>
          poolOf(name)?.deadLetters.size === 0
            ? []
            : call('peek at dead letters', () => (poolOf(name)?.peek(limit) ?? []).map(peeked), {
                refused: ['describe throttled'],
              }),
        release: (name, letters) =>
          call('release dead letters', () =>
            poolOf(name)?.release(letters.map(({ messageId }) => messageId)),
          ),
      },
      views: {
        putDead: (row) =>
          actors.call(actor, 'put dead', () => views.putDead(row), { refused: ['store throttled'] }),
        timeline: (runId) =>
          actors.call(actor, 'timeline', () => views.timeline(runId), { refused: ['store throttled'] }),
      },
      retelling: {
        waiting: () => call('depth of project', () => toProject),
        tell: (image) =>
          call(
            'tell again',
            () =>
              void parts
                .relayRetry()
                .send({ body: byImage.pack({ before: undefined, after: image }), origin: 'topic' }),
            { refused: ['retry queue down'] },
          ),
      },
      ids: {
        runId: () => ulid(clockwork.now(), bytes(10)),
        nonce: () => hex(8),
        traceId: () => hex(16),
        random: () => random.next(),
      },
      visibility: (queue) => ({
        change: (receiptHandle, seconds) =>
          call(`hide for ${seconds} s`, () => queue.hide(receiptHandle, seconds), {
            refused: ['visibility not changed'],
          }),
      }),
    };
  }
}

const peeked = ({ id, body, sentAt }: Message) => ({ messageId: id, receiptHandle: id, body, sentAt });

export type PortsFor = ReturnType<typeof portsOf>;

/** What is deployed: the definition changes once, by a fault. */
export const deployedOf = (plan: Plan, definition: string): ReadonlyMap<string, DeployedWorkflow> =>
  new Map(plan.workflows.map(({ name }) => [name, { stateMachineArn: name, definition }]));
