/** Read models from events: the run list and the timeline. Late and doubled events change nothing. */
import type { Envelope } from './envelope.ts';
import type { Views } from './ports.ts';
import { expiryOf, RUN_EVENTS, type RunEventData } from './run-changes.ts';

/**
 * A timeline is written while nobody knows when its run will end: an entry lives 360 days, so that runs of up to 270
 * days keep all of it until they expire themselves. Of a longer run the oldest entries go first; its items stay.
 */
const LONGEST_TIMELINE_MS = 270 * 86_400_000;

const runEvents: ReadonlySet<string> = new Set(Object.values(RUN_EVENTS));

/** Sequence number at the end of an event's id: `runId:seq` or `taskId:seq`. */
const seqOf = (event: Envelope): number => Number(event.id.slice(event.id.lastIndexOf(':') + 1));

const isClosed = ({ status }: RunEventData): boolean => status === 'succeeded' || status === 'failed';

/** A run's row in the list: the newest event wins, whatever order they come in. */
async function projectRun(views: Views, event: Envelope): Promise<void> {
  const data = event.data as RunEventData;
  await views.putRunRow({
    tenant: event.tenant,
    runId: data.runId,
    workflow: data.workflow,
    status: data.status,
    execution: data.execution,
    startedAt: data.startedAt,
    updatedAt: data.updatedAt,
    seq: seqOf(event),
    ...(isClosed(data) ? { expiresAt: expiryOf(data.updatedAt) } : {}),
  });
}

/** What a timeline shows of a failed task. Other events' data stay out: they may be large or personal. */
function detailOf(event: Envelope): string | undefined {
  if (event.type !== 'edow.task.failed') return undefined;
  const { type, reason, error } = event.data as { type: string; reason: string; error: string };
  return `${type}: ${error} (${reason})`;
}

export async function project(views: Views, event: Envelope): Promise<void> {
  if (runEvents.has(event.type)) await projectRun(views, event);
  const detail = detailOf(event);
  await views.addToTimeline({
    runId: event.subject ?? event.causationid,
    time: event.time,
    eventId: event.id,
    type: event.type,
    source: event.causationid,
    expiresAt: expiryOf(Date.parse(event.time) + LONGEST_TIMELINE_MS),
    ...(detail === undefined ? {} : { detail }),
  });
}
