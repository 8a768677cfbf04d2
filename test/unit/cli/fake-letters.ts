import type { DeadLetter, DeadLetters, LetterCopy, Source } from '#cli/ports.ts';
import type { ReplayPorts } from '#cli/replay.ts';
import type { StepItem } from '#core/items.ts';

export const source = (name: string): Source => ({
  name,
  queueUrl: `q/${name}`,
  dlqUrl: `dlq/${name}`,
  queueArn: `arn:q/${name}`,
  types: name === 'shipping' ? ['shipping.parcel.ship'] : [],
});

export const commandBody = (run: string, step: string): string =>
  JSON.stringify({
    id: `${run}/${step}/0`,
    runid: run,
    step,
    type: 'shipping.parcel.ship',
    data: { ä: 1.5 },
  });

let made = 0;
export const letter = (body: string, more: Partial<DeadLetter> = {}): DeadLetter => {
  made += 1;
  return {
    messageId: `m-${made}`,
    receiptHandle: `r-${made}`,
    body,
    attributes: { type: { dataType: 'String', text: 'shipping.parcel.ship' } },
    groupId: 'default',
    sentAt: 1000,
    ...more,
  };
};

export interface Sent {
  readonly queueUrl: string;
  readonly copy: LetterCopy;
  /** The letter that it was made of, by its own word. */
  readonly of: string | undefined;
  readonly replay: number;
}

interface FakeOptions {
  /** Throws at that call of `send` or `remove`, counted over both, from 1. */
  readonly crashAt?: number;
  readonly tasks?: Record<string, Partial<StepItem>>;
  /** Called with each copy as it is sent: what its task becomes. */
  readonly onSent?: (copy: LetterCopy) => void;
}

/** Queues in memory: a received letter is hidden until it is released; a clock that only sleeping moves. */
export function fakeQueues(
  queues: Readonly<Record<string, readonly DeadLetter[]>>,
  options: FakeOptions = {},
) {
  const dead = new Map(
    Object.entries(queues).map(([name, letters]) => [
      `dlq/${name}`,
      new Map(letters.map((one) => [one.messageId, one])),
    ]),
  );
  const hidden = new Set<string>();
  const sent: Sent[] = [];
  const sentAt: number[] = [];
  const log: string[] = [];
  let now = 0;
  let calls = 0;
  const crash = (): void => {
    calls += 1;
    if (calls === options.crashAt) throw new Error('crash');
  };
  const letters: DeadLetters = {
    async receive(dlqUrl) {
      const visible = [...(dead.get(dlqUrl)?.values() ?? [])].filter(
        ({ messageId }) => !hidden.has(messageId),
      );
      const batch = visible.slice(0, 10);
      for (const { messageId } of batch) hidden.add(messageId);
      return batch;
    },
    hidden: async (dlqUrl) => [...(dead.get(dlqUrl)?.keys() ?? [])].filter((id) => hidden.has(id)).length,
    async release(_, released) {
      for (const { messageId } of released) hidden.delete(messageId);
    },
    async send(queueUrl, copy) {
      crash();
      const of = copy.attributes['replayof']?.text;
      log.push(`send ${of}`);
      sent.push({ queueUrl, copy, of, replay: Number(copy.attributes['replay']?.text) });
      sentAt.push(now);
      options.onSent?.(copy);
    },
    async remove(dlqUrl, one) {
      crash();
      log.push(`remove ${one.messageId}`);
      dead.get(dlqUrl)?.delete(one.messageId);
    },
  };
  const ports: ReplayPorts = {
    letters,
    lookUp: async (run, step) => options.tasks?.[`${run}/${step}`] as StepItem | undefined,
    now: () => now,
    sleep: async (milliseconds) => {
      now += milliseconds;
    },
  };
  const left = (name: string): readonly string[] => [...(dead.get(`dlq/${name}`)?.keys() ?? [])];
  /** As after a crash: what was hidden is seen again. */
  const reappear = (): void => hidden.clear();
  return { ports, sent, sentAt, log, left, hidden, reappear };
}
