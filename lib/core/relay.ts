/** Turns the outbox of a changed item into an event (design 3.7). */
import type { Envelope } from './envelope.ts';
import { asRun, asStep, type Outbox, taskIdOf } from './items.ts';
import type { Events } from './ports.ts';
import type { Item } from './store.ts';

/** The event that a step's or a run's item tells; undefined where it tells nothing. */
export function eventOf(item: Item): Envelope | undefined {
  const outbox = item['outbox'] as Outbox | undefined;
  if (outbox === undefined) return undefined;
  if (item.SK === 'RUN') {
    const run = asRun(item);
    return envelopeOf(outbox, `${run.runId}:${run.seq}`, run.runId, run.runId, { data: parsed(outbox.data) });
  }
  const step = asStep(item);
  const taskId = taskIdOf(step.runId, step.stepKey);
  return envelopeOf(
    outbox,
    `${taskId}:${step.seq}`,
    step.runId,
    taskId,
    outbox.data === undefined && step.resultRef !== undefined
      ? { dataref: step.resultRef }
      : { data: parsed(outbox.data ?? step.result) },
  );
}

const parsed = (text: string | undefined): unknown => (text === undefined ? null : JSON.parse(text));

const envelopeOf = (
  outbox: Outbox,
  id: string,
  subject: string,
  causationid: string,
  data: { readonly data: unknown } | { readonly dataref: string },
): Envelope => ({
  specversion: '1.0',
  id,
  source: outbox.source,
  type: outbox.type,
  time: outbox.time,
  subject,
  datacontenttype: 'application/json',
  dataschema: outbox.dataschema,
  ...data,
  correlationid: outbox.correlationid,
  causationid,
  traceparent: outbox.traceparent,
  tenant: outbox.tenant,
});

/** A stream record that changes no outbox (the sweeper's look, a mark) tells nothing new. */
export const tellsSomething = (before: Item | undefined, after: Item): boolean =>
  after['outbox'] !== undefined && before?.['seq'] !== after['seq'];

export interface Relayed {
  readonly before: Item | undefined;
  readonly after: Item;
}

/** Publishes the events of many changes at once; returns the changes whose event was not taken. */
export function relayer(events: Events) {
  async function relay<T extends Relayed>(changes: readonly T[]): Promise<T[]> {
    const told = changes.flatMap((change) => {
      const event = tellsSomething(change.before, change.after) ? eventOf(change.after) : undefined;
      return event === undefined ? [] : [{ change, event }];
    });
    if (told.length === 0) return [];
    const left = new Set(await events.publish(told.map(({ event }) => event)));
    return told.filter(({ event }) => left.has(event.id)).map(({ change }) => change);
  }
  return { relay };
}
