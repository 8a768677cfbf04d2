/** The dead letters of all queues with what is on record about their tasks. Looks, changes nothing. */
import { replaysOf, type Subject, subjectOf } from './letter.ts';
import { reasonOf, taskOf } from './letter-filter.ts';
import type { DeadLetter, DeadLetterBox, DeadLetters, TaskLookup } from './ports.ts';

export interface DeadEntry extends Subject {
  readonly source: string;
  readonly messageId: string;
  /** Status of the task; a letter whose task is done is a left-over copy. */
  readonly status?: string;
  readonly reason: string;
  readonly error?: string;
  readonly message?: string;
  readonly fingerprint?: string;
  readonly tries?: number;
  readonly replays: number;
  /** First try and death, ISO 8601. */
  readonly firstAt: string;
  readonly lastAt?: string;
}

export interface DeadList {
  readonly entries: readonly DeadEntry[];
  /** False: a queue holds more than was looked at. */
  readonly complete: boolean;
}

/** Letters are hidden from other readers for so long at most, seconds; they are released right after the look. */
const HIDDEN_SECONDS = 30;
/** Letters looked at in one queue. */
const MAX_LOOKED_AT = 200;

export async function listDead(
  letters: DeadLetters,
  lookUp: TaskLookup,
  sources: readonly DeadLetterBox[],
): Promise<DeadList> {
  const found = await Promise.all(sources.map((source) => looked(letters, source)));
  const entries = await Promise.all(
    found.flatMap(({ source, held }) => held.map((letter) => entryOf(lookUp, source.name, letter))),
  );
  return { entries, complete: found.every(({ complete }) => complete) };
}

async function looked(letters: DeadLetters, source: DeadLetterBox) {
  const held = new Map<string, DeadLetter>();
  try {
    for (;;) {
      const batch = await letters.receive(source.dlqUrl, HIDDEN_SECONDS);
      const before = held.size;
      for (const letter of batch) held.set(letter.messageId, letter);
      if (held.size === before) return { source, held: [...held.values()], complete: true };
      if (held.size >= MAX_LOOKED_AT) return { source, held: [...held.values()], complete: false };
    }
  } finally {
    await letters.release(source.dlqUrl, [...held.values()]).catch(() => {});
  }
}

const iso = (time: number): string => new Date(time).toISOString();

async function entryOf(lookUp: TaskLookup, source: string, letter: DeadLetter): Promise<DeadEntry> {
  const subject = subjectOf(letter.body);
  const plain = {
    ...subject,
    source,
    messageId: letter.messageId,
    replays: replaysOf(letter),
    firstAt: iso(letter.sentAt),
  };
  const task = await taskOf(lookUp, subject);
  const reason = reasonOf(subject, task);
  if (task === undefined) return { ...plain, reason };
  const { status, failure, attempts, started, deadAt } = task;
  return {
    ...plain,
    status,
    reason,
    ...(failure !== undefined && {
      error: failure.name,
      message: failure.message,
      fingerprint: failure.fingerprint,
    }),
    tries: started,
    firstAt: iso(attempts?.[0]?.startedAt ?? letter.sentAt),
    ...(deadAt !== undefined && { lastAt: iso(deadAt) }),
  };
}
