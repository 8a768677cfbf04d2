/**
 * Events that the stream lost. Each event is told by the stream's own follower; a timeline holds each event that reached
 * the projector. What an item says was told and the timeline of its run lacks two minutes later is told again.
 */
import type { Envelope } from './envelope.ts';
import type { EarlierOutbox, Outbox, RunItem, StepItem } from './items.ts';
import type { Log, Retelling, ViewRows } from './ports.ts';
import { eventOf } from './relay.ts';
import type { Attribute, Change, Item } from './store.ts';
import { to } from './store.ts';

/** Outboxes that later ones have replaced, the newest: a run with its five automatic resumes has eleven events. */
const MOST_EARLIER = 12;

/** Keeps the outbox that a write replaces, with the item as it was read. Nothing for the first. */
export function keepOutboxOf(item: Pick<StepItem | RunItem, 'outbox' | 'seq' | 'earlier'>): {
  readonly earlier?: Change;
} {
  const { outbox, seq, earlier = [] } = item;
  if (outbox === undefined) return {};
  const {
    source: _source,
    tenant: _tenant,
    correlationid: _correlation,
    traceparent: _trace,
    ...own
  } = outbox;
  const kept: EarlierOutbox = { ...own, seq };
  const all = [...earlier, kept].slice(-MOST_EARLIER);
  return { earlier: to(all.map((one): { readonly [name: string]: Attribute } => ({ ...one }))) };
}

/** The item as it was with each of its outboxes, the oldest first: what its events are made of. */
function imagesOf(item: Item): Item[] {
  const { data: _, ...same } = (item['outbox'] ?? {}) as Partial<Outbox>;
  const earlier = (item['earlier'] ?? []) as unknown as readonly EarlierOutbox[];
  return [...earlier.map(({ seq, ...one }) => ({ ...item, seq, outbox: { ...same, ...one } })), item];
}

/** Relay and projector need seconds; a record that was set aside is tried for minutes, and told twice at worst. */
const LATE_MS = 120_000;
/** Runs are looked at once an hour at least: what is older was told, or its row has expired. */
const OLDEST_MS = 7 * 86_400_000;
/** Events of one run told again in one look. */
const MOST_AT_ONCE = 20;

/** `told`: all is. `late`: something was told again. `young`: too early to say. */
export type Told = 'told' | 'late' | 'young';

export interface TellPorts {
  readonly views: Pick<ViewRows, 'timeline'>;
  readonly retelling: Retelling;
}

/** @param items of one run, read before its timeline */
export async function tellAgain(
  { views, retelling }: TellPorts,
  runId: string,
  items: readonly Item[],
  now: number,
  log: Log,
): Promise<Told> {
  const events = items
    .flatMap(imagesOf)
    .flatMap((image) => {
      const event = eventOf(image);
      return event === undefined ? [] : [{ image, event, age: now - Date.parse(event.time) }];
    })
    .filter(({ age }) => age < OLDEST_MS);
  const due = events.filter(({ age }) => age > LATE_MS);
  if (due.length === 0) return events.length === 0 ? 'told' : 'young';
  const told = new Set((await views.timeline(runId)).map(({ eventId }) => eventId));
  const missing = due.filter(({ event }: { readonly event: Envelope }) => !told.has(event.id));
  for (const { image } of missing.slice(0, MOST_AT_ONCE)) await retelling.tell(image);
  if (missing.length > 0) {
    log.warn('events that nobody had told are told again', { run: runId, events: missing.length });
    return 'late';
  }
  return due.length === events.length ? 'told' : 'young';
}
