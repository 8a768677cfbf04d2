/** Read models from events: run list, timeline, index of dead letters. Late and doubled events change nothing. */
import { closedRowExpiry, type DeadTaskRow, deadRowExpiry } from './dead-rows.ts';
import { TASK_FAILED, type TaskFailedData } from './deaths.ts';
import { type Envelope, workflowOf } from './envelope.ts';
import type { ViewRows } from './ports.ts';
import { expiryOf, RUN_EVENTS, type RunEventData } from './run-changes.ts';

/**
 * A timeline is written while nobody knows when its run will end: an entry lives 360 days, so that runs of up to 270
 * days keep all of it until they expire themselves. Of a longer run the oldest entries go first; its items stay.
 */
const LONGEST_TIMELINE_MS = 270 * 86_400_000;

const runEvents: ReadonlySet<string> = new Set(Object.values(RUN_EVENTS));

/** Sequence number at the end of an event's id: `runId:seq` or `taskId:seq`. */
const seqOf = (event: Envelope): number => Number(event.id.slice(event.id.lastIndexOf(':') + 1));

const isClosed = ({ status }: { readonly status: string }): boolean =>
  status === 'succeeded' || status === 'failed';

/** A run's row in the list: the newest event wins, whatever order they come in. */
async function projectRun(views: ViewRows, event: Envelope): Promise<void> {
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
  // Row of the run first, rows of its dead tasks second; a death is put first and its run read second: see below.
  if (isClosed(data)) for (const row of await views.deadOfRun(data.runId)) await close(views, row);
}

const close = (views: ViewRows, { runId, taskId, seq, lastAt }: DeadTaskRow): Promise<void> =>
  views.closeDead({ runId, taskId, seq, expiresAt: closedRowExpiry(lastAt) });

/** An event of an older version says less. */
type ToldOfDeath = Partial<TaskFailedData> & Pick<TaskFailedData, 'type' | 'reason' | 'error'>;

const DETAILS = [
  'class',
  'message',
  'fingerprint',
  'version',
  'tries',
  'started',
  'workers',
  'firstAt',
  'deaths',
  'replays',
] as const satisfies readonly (keyof TaskFailedData)[];

/** What the index keeps of a death, and nothing that somebody added. */
const told = (data: ToldOfDeath) => {
  const details = DETAILS.flatMap((name) => (data[name] === undefined ? [] : [[name, data[name]]]));
  const { type, reason, error } = data;
  return { type, reason, error, ...(Object.fromEntries(details) as Partial<TaskFailedData>) };
};

/**
 * A death opens the task's row. The end of the run cancels its dead tasks without an event of their own: whichever of
 * the two events is projected second closes the row.
 */
async function projectDeath(views: ViewRows, event: Envelope): Promise<void> {
  const diedAt = Date.parse(event.time);
  const [runId = '', step = ''] = event.causationid.split('/');
  const row: DeadTaskRow = {
    kind: 'task',
    taskId: event.causationid,
    runId,
    step,
    tenant: event.tenant,
    workflow: workflowOf(event.source),
    firstAt: diedAt,
    ...told(event.data as ToldOfDeath),
    lastAt: diedAt,
    seq: seqOf(event),
    expiresAt: deadRowExpiry(diedAt),
  };
  await views.putDead(row);
  const run = await views.runRow(row.tenant, runId);
  if (run && isClosed(run)) await close(views, row);
}

/** A later outcome closes the row. The first outcome of a task has nothing to close, which spares nearly all of them a write. */
async function projectOutcome(views: ViewRows, event: Envelope): Promise<void> {
  const [runId = '', step] = event.causationid.split('/');
  const seq = seqOf(event);
  if (step === undefined || seq <= 1) return;
  const expiresAt = closedRowExpiry(Date.parse(event.time));
  await views.closeDead({ runId, taskId: event.causationid, seq, expiresAt });
}

/** What a timeline shows of a failed task. Other events' data stay out: they may be large or personal. */
function detailOf(event: Envelope): string | undefined {
  if (event.type !== TASK_FAILED) return undefined;
  const { type, reason, error } = event.data as ToldOfDeath;
  return `${type}: ${error} (${reason})`;
}

export async function project(views: ViewRows, event: Envelope): Promise<void> {
  if (runEvents.has(event.type)) await projectRun(views, event);
  else if (event.type === TASK_FAILED) await projectDeath(views, event);
  else await projectOutcome(views, event);
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
