/** GET /runs/{id} (the truth) and GET /runs (the list, which lags a little). */
import { runKey, splitPartition } from '#core/items.ts';
import type { Payloads, RunRow, TimelineEntry, Views } from '#core/ports.ts';
import { runView } from '#core/run-view.ts';
import type { Store } from '#core/store.ts';
import { tenantOf } from '#core/tenant.ts';
import { type HttpAnswer, type HttpRequest, json, Problem } from './http.ts';

export interface StatusPorts {
  readonly store: Store;
  readonly views: Views;
  readonly payloads: Payloads;
  readonly tenants: ReadonlyMap<string, string>;
}

const RUN_ID = /^[0-9A-HJKMNP-TV-Z]{26}$/;
const STATUSES = ['running', 'held', 'succeeded', 'failed'];
const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 20;

/** How far the list may lag behind, said with each page: the stream and one queue lie between. */
const STALENESS =
  'usually under 2 seconds; minutes while the event stream is late. GET /runs/{id} is always current, save its timeline';

const rowView = (row: RunRow) => ({
  id: row.runId,
  workflow: row.workflow,
  status: row.status,
  execution: row.execution,
  startedAt: new Date(row.startedAt).toISOString(),
  updatedAt: new Date(row.updatedAt).toISOString(),
});

/** What happened, as events told it; `subject` is the task, or the run. */
const entryView = ({ time, type, source, detail }: TimelineEntry) => ({
  time,
  type,
  subject: source,
  ...(detail === undefined ? {} : { detail }),
});

export function statusHttp(ports: StatusPorts) {
  async function one(runId: string, tenant: string): Promise<HttpAnswer> {
    const unknown = new Problem(404, 'unknown_run', 'there is no run of this id', {
      fields: [{ pointer: '#/path/id', detail: 'no run of this id' }],
    });
    if (!RUN_ID.test(runId)) throw unknown;
    const { run, steps } = splitPartition(await ports.store.partition(runKey(runId).PK));
    // Another tenant's run is as unknown as one that never was.
    if (run === undefined || run.tenant !== tenant) throw unknown;
    const [view, events] = await Promise.all([
      runView(ports.payloads, run, steps),
      ports.views.timeline(runId),
    ]);
    return json(200, { ...view, timeline: events.map(entryView) });
  }

  async function list(request: HttpRequest, tenant: string): Promise<HttpAnswer> {
    const { workflow, status, cursor, limit: asked } = request.query;
    const limit = asked === undefined ? DEFAULT_LIMIT : Number(asked);
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
      throw badQuery('limit', `a whole number from 1 to ${MAX_LIMIT}`);
    if (status !== undefined && !STATUSES.includes(status)) throw badQuery('status', STATUSES.join(', '));
    const page = await ports.views.listRuns({
      tenant,
      limit,
      ...(workflow === undefined ? {} : { workflow }),
      ...(status === undefined ? {} : { status }),
      ...(cursor === undefined ? {} : { after: cursor }),
    });
    return json(200, {
      runs: page.rows.map(rowView),
      ...(page.next === undefined ? {} : { next: page.next }),
      staleness: STALENESS,
    });
  }

  return async (request: HttpRequest): Promise<HttpAnswer> => {
    const tenant = tenantOf(request.callerArn, ports.tenants);
    if (tenant === undefined) throw new Problem(403, 'no_tenant', 'this caller belongs to no tenant');
    const id = request.params['id'];
    return id === undefined ? list(request, tenant) : one(id, tenant);
  };
}

const badQuery = (name: string, allowed: string): Problem =>
  new Problem(400, 'bad_query', `${name} is not allowed`, {
    fields: [{ pointer: `#/query/${name}`, detail: `allowed: ${allowed}` }],
  });
