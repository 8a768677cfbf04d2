/** A queue of SQS, standard or FIFO, with its dead letters, and the mapping that feeds a function from it. */
import { parseCommand } from '#core/read-command.ts';
import type { Ended } from './actors.ts';
import type { Clockwork } from './clockwork.ts';
import type { FaultKind, Faults } from './faults.ts';
import type { Random } from './random.ts';

export interface Message {
  readonly id: string;
  readonly body: string;
  /** Message attribute of our own replay; 0 for none. */
  readonly replay: number;
  readonly sentAt: number;
  readonly group: string | undefined;
  /** Who sent it: the topic, an operator's replay or move, or nobody that we know. */
  readonly origin: 'topic' | 'replay' | 'move' | 'stranger';
  receives: number;
  visibleAt: number;
  /** The mapping notices it so many milliseconds later. */
  noticedAfter: number;
  /** Receives in a row that gave it back at once. */
  refusals: number;
  /** It is hidden until somebody asks for the queue's depth. */
  readonly untilAsked: boolean;
  /** Receives that a worker never saw. */
  burnt: number;
  /** The function saw its last receive to the end. */
  seen: boolean;
  /** When it went to the dead letters. */
  diedAt: number;
}

const commands = new WeakMap<Message, ReturnType<typeof parseCommand>>();
/** The command of a message, read once: our checks ask for it again and again. */
export function commandOf(message: Message): ReturnType<typeof parseCommand> {
  const command = commands.get(message) ?? parseCommand(message.body);
  commands.set(message, command);
  return command;
}

export interface Received {
  readonly message: Message;
  readonly receiptHandle: string;
  readonly receiveCount: number;
}

/** Hands a batch to the function; `done` gets the ids of the messages that were not finished, or `failed`. */
export type Consumer = (
  batch: readonly Received[],
  done: (unfinished: readonly string[] | 'failed') => void,
) => void;

export interface QueueOptions {
  readonly name: string;
  readonly visibilityMs: number;
  readonly maxReceiveCount: number;
  readonly batchSize: number;
  readonly maxConcurrency: number;
  readonly consumer: Consumer;
  /** Told before a message is deleted, and when one moves to the dead letters. */
  readonly onDelete?: (message: Message) => void;
  readonly onDeadLetter?: (message: Message) => void;
  /** Whether the faults of a queue strike here; a stage's own retry queue is spared some. */
  readonly faulty: boolean;
  /**
   * A message that was given back at once twice and answers true uses up its receives with no function to see
   * them, as a throttled one does, all but the last: its way to the dead letters is short. Default: nothing is spared.
   */
  readonly spared?: (message: Message) => boolean;
  /** FIFO: the group of a body. One message of a group is in flight at a time, in the order in which they came. */
  readonly groupOf?: (body: string) => string | undefined;
}

export interface Queue {
  readonly name: string;
  readonly deadLetters: Map<string, Message>;
  send(parts: {
    body: string;
    replay?: number;
    origin: Message['origin'];
    hiddenMs?: number;
    untilAsked?: boolean;
  }): Message;
  /** Dead letters that nobody holds, which are hidden from now on; and seen again. */
  peek(limit: number): Message[];
  release(ids: readonly string[]): void;
  /** As ChangeMessageVisibility: an old receipt changes nothing. */
  hide(receiptHandle: string, seconds: number): void;
  waiting(): number;
  /** Makes messages visible at once; returns how many. */
  reveal(which: (message: Message) => boolean): number;
  /** Messages on it, in flight or not. */
  size(): number;
  /** Messages on it whose body holds this text. */
  holding(text: string): number;
  /** The mapping hands nothing out for so long. */
  pause(milliseconds: number): void;
}

/** A peek at dead letters hides them for so long, unless they are released. */
const PEEK_MS = 20_000;
/** Between two receives of a message that no function gets to see. */
const DOOMED_MS = [500, 5000] as const;
/** The mapping gathers messages for a moment. */
const POLL_MS = [5, 60] as const;
/** Refusals in a row that are worth a look: the pair is noted at the first, and the same copy must not revive it at the second. */
const REFUSALS = 2;

export interface QueueParts {
  readonly clockwork: Clockwork;
  readonly faults: Faults;
  readonly random: Random;
}

export function queueOf({ clockwork, faults, random }: QueueParts, options: QueueOptions): Queue {
  const messages = new Map<string, Message>();
  const deadLetters = new Map<string, Message>();
  let sent = 0;
  let running = 0;
  let pausedUntil = 0;
  let doomed: string | undefined;
  const strikes = (kind: FaultKind): boolean => options.faulty && faults.strikes(kind);

  /** When the next poll is due: there is never more than one that counts. */
  let pollAt = Number.POSITIVE_INFINITY;
  function wakeAt(time: number): void {
    if (time >= pollAt) return;
    pollAt = time;
    clockwork.at(Math.ceil(time), () => {
      if (pollAt !== time) return;
      pollAt = Number.POSITIVE_INFINITY;
      poll();
    });
  }

  function poll(): void {
    const now = clockwork.now();
    if (now < pausedUntil) {
      wakeAt(pausedUntil);
      return;
    }
    // Whichever invocation ends first polls again.
    if (running >= options.maxConcurrency) return;
    const batch: Received[] = [];
    const busy = options.groupOf === undefined ? undefined : new Set<string>();
    let next = Number.POSITIVE_INFINITY;
    for (const message of messages.values()) {
      const { group } = message;
      if (group !== undefined && busy?.has(group)) continue;
      if (message.visibleAt <= now && batch.length < options.batchSize) {
        const received = receive(message);
        if (received) batch.push(received);
      }
      if (!messages.has(message.id)) continue;
      if (group !== undefined) busy?.add(group);
      next = Math.min(next, message.visibleAt <= now ? now : message.visibleAt + message.noticedAfter);
    }
    if (batch.length > 0) {
      running += 1;
      options.consumer(batch, (unfinished) => finish(batch, unfinished));
    }
    if (next < Number.POSITIVE_INFINITY) wakeAt(next);
  }

  function receive(message: Message): Received | undefined {
    if (message.receives >= options.maxReceiveCount) {
      messages.delete(message.id);
      message.diedAt = clockwork.now();
      deadLetters.set(message.id, message);
      options.onDeadLetter?.(message);
      return undefined;
    }
    message.receives += 1;
    message.seen = false;
    message.visibleAt = clockwork.now() + options.visibilityMs;
    message.noticedAfter = 0;
    // What dies unseen has no place in the line of its key: order is promised for what a worker has met.
    if (options.groupOf === undefined && strikes('receives all burnt')) doomed ??= message.id;
    if (doomed === message.id || strikes('receive burnt')) {
      message.burnt += 1;
      if (doomed === message.id) {
        // A function that is throttled or cannot load gives it back soon: the letter is there before its step gives up.
        message.visibleAt = clockwork.now() + random.between(...DOOMED_MS);
      }
      return undefined;
    }
    if (options.groupOf === undefined && strikes('message handed out twice')) {
      message.visibleAt = clockwork.now() + random.between(0, 20_000);
    }
    return { message, receiptHandle: `${message.id}#${message.receives}`, receiveCount: message.receives };
  }

  function finish(batch: readonly Received[], unfinished: readonly string[] | 'failed'): void {
    running -= 1;
    wakeAt(clockwork.now());
    if (unfinished === 'failed') return;
    for (const { message, receiveCount } of batch) {
      message.seen = message.receives === receiveCount;
      if (unfinished.includes(message.id) || !messages.has(message.id)) continue;
      if (strikes('delete lost')) continue;
      options.onDelete?.(message);
      messages.delete(message.id);
    }
  }

  return {
    name: options.name,
    deadLetters,
    send({ body, replay = 0, origin, hiddenMs = 0, untilAsked = false }) {
      sent += 1;
      const message: Message = {
        id: `${options.name}-m${sent}`,
        body,
        group: options.groupOf?.(body),
        replay,
        origin,
        sentAt: clockwork.now(),
        receives: 0,
        burnt: 0,
        seen: false,
        diedAt: 0,
        refusals: 0,
        untilAsked,
        visibleAt: clockwork.now() + hiddenMs,
        noticedAfter: random.between(...POLL_MS),
      };
      messages.set(message.id, message);
      wakeAt(message.visibleAt + message.noticedAfter);
      return message;
    },
    peek(limit) {
      const letters = [...deadLetters.values()].filter(({ visibleAt }) => visibleAt <= clockwork.now());
      for (const letter of letters.slice(0, limit)) letter.visibleAt = clockwork.now() + PEEK_MS;
      return letters.slice(0, limit);
    },
    release(ids) {
      for (const id of ids) {
        const letter = deadLetters.get(id);
        if (letter) letter.visibleAt = clockwork.now();
      }
    },
    hide(receiptHandle, seconds) {
      const [id = '', receive] = receiptHandle.split('#');
      const message = messages.get(id);
      if (message === undefined || message.receives !== Number(receive)) return;
      message.visibleAt = clockwork.now() + seconds * 1000;
      message.noticedAfter = random.between(...POLL_MS);
      message.refusals = seconds === 0 ? message.refusals + 1 : 0;
      if (message.refusals >= REFUSALS && options.spared?.(message))
        message.receives = Math.max(message.receives, options.maxReceiveCount - 1);
      wakeAt(message.visibleAt + message.noticedAfter);
    },
    waiting: () => [...messages.values()].filter(({ visibleAt }) => visibleAt <= clockwork.now()).length,
    reveal(which) {
      const hidden = [...messages.values()].filter(
        (message) => message.visibleAt > clockwork.now() && which(message),
      );
      for (const message of hidden) {
        message.visibleAt = clockwork.now();
        message.noticedAfter = random.between(...POLL_MS);
        wakeAt(message.visibleAt + message.noticedAfter);
      }
      return hidden.length;
    },
    size: () => messages.size,
    holding: (text) => [...messages.values()].filter(({ body }) => body.includes(text)).length,
    pause(milliseconds) {
      pausedUntil = clockwork.now() + milliseconds;
      wakeAt(pausedUntil);
    },
  };
}

/** What a mapping makes of an invocation's end. */
export const unfinishedOf = (
  how: Ended<{ batchItemFailures: readonly { itemIdentifier: string }[] }>,
): readonly string[] | 'failed' =>
  typeof how === 'object' && 'value' in how
    ? how.value.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier)
    : 'failed';
