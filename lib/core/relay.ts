/** Turns the outbox of a changed item into an event. */
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

/**
 * Publishes the events of many changes at once; returns the changes whose event was not taken. One item's events are
 * published in their order: what comes after one that was not taken is not published before it.
 */
export function relayer(events: Events) {
  async function relay<T extends Relayed>(changes: readonly T[]): Promise<T[]> {
    const left: T[] = [];
    let waiting = changes.flatMap((change) => {
      const event = tellsSomething(change.before, change.after) ? eventOf(change.after) : undefined;
      return event === undefined ? [] : [{ change, event }];
    });
    while (waiting.length > 0) {
      // The first of each item; nearly always that is all.
      const round = new Map<string, (typeof waiting)[number]>();
      for (const told of waiting)
        if (!round.has(told.event.causationid)) round.set(told.event.causationid, told);
      const sent = [...round.values()];
      const refused = new Set(await events.publish(sent.map(({ event }) => event)));
      const stuck = new Set(
        sent.filter(({ event }) => refused.has(event.id)).map(({ event }) => event.causationid),
      );
      left.push(...waiting.filter(({ event }) => stuck.has(event.causationid)).map(({ change }) => change));
      waiting = waiting.filter((told) => !sent.includes(told) && !stuck.has(told.event.causationid));
    }
    return left;
  }
  return { relay };
}
