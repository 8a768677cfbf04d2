/** What a dead letter is about, as far as its body tells. */
import { parseExecutionName } from '#core/items.ts';
import { REPLAY_ATTRIBUTE } from '#runtime/worker-pool.ts';
import type { DeadLetter } from './ports.ts';

export interface Subject {
  readonly run?: string;
  readonly step?: string;
  readonly task?: string;
  readonly type?: string;
  readonly tenant?: string;
  readonly workflow?: string;
}

/**
 * A command, which a worker acts on. Retry queues hold changes of items: such a letter is an answer or an event that is
 * still to be told, whatever its task is by now.
 */
export const isCommand = (
  subject: Subject,
): subject is Subject & { readonly type: string; readonly run: string; readonly step: string } =>
  subject.type !== undefined && subject.run !== undefined && subject.step !== undefined;

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value.length <= 400 ? value : undefined;

/** A key as text, or as it stands in an item's image. */
const keyText = (value: unknown): string | undefined =>
  text(typeof value === 'object' && value !== null && 'S' in value ? value.S : value);

/** Run of an end-state event, as a rule or Lambda set it aside for close. */
function endedRun(value: Record<string, unknown>): string | undefined {
  const event = (value['requestPayload'] ?? value) as { readonly detail?: { readonly name?: unknown } };
  return parseExecutionName(text(event.detail?.name) ?? '')?.runId;
}

/**
 * Commands name their run and step; events name their run as subject; retry queues hold keys of items (collect) or
 * their images (relay). Undefined: a body that nothing of ours wrote.
 */
export function subjectOf(body: string): Subject | undefined {
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(body);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const type = text(value['type']);
  const key = /^RUN#(.+)$/.exec(keyText(value['PK']) ?? '')?.[1];
  if (key !== undefined) {
    const step = /^STEP#(.+)$/.exec(keyText(value['SK']) ?? '')?.[1];
    return { run: key, ...(step !== undefined && { step, task: `${key}/${step}/0` }) };
  }
  const ended = endedRun(value);
  if (ended !== undefined) return { type: 'end of an execution', run: ended };
  const id = text(value['id']);
  if (type === undefined || id === undefined) return undefined;
  const [run, step] = [text(value['runid']) ?? text(value['subject']), text(value['step'])];
  const [tenant, workflow] = [text(value['tenant']), text(value['workflow'])];
  return {
    type,
    ...(tenant !== undefined && { tenant }),
    ...(workflow !== undefined && { workflow }),
    ...(run !== undefined && { run }),
    ...(step !== undefined && { step, task: id }),
  };
}

/** How often our own tool has sent this copy back; 0: never. */
export function replaysOf(letter: DeadLetter): number {
  const count = Number(letter.attributes[REPLAY_ATTRIBUTE]?.text ?? 0);
  return Number.isSafeInteger(count) && count > 0 ? count : 0;
}
