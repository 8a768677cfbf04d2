/** Accepts a request for a run: one key, one run. */
import { hash } from 'node:crypto';
import type { DeployedWorkflow } from './env-names.ts';
import { asKeyItem, asRun, keyKey, openShard, type RunItem, runKey } from './items.ts';
import { keepPayload } from './payload.ts';
import type { Clock, Executions, Ids, Log, Payloads } from './ports.ts';
import { startExecution } from './resume.ts';
import { FIRST_CHECK_MS, RUN_EVENTS, runOutbox } from './run-changes.ts';
import { absent, any, type Item, type Store, where } from './store.ts';

export interface TriggerPorts {
  readonly store: Store;
  readonly executions: Executions;
  readonly payloads: Payloads;
  readonly clock: Clock;
  readonly ids: Ids;
}

export interface RunRequest {
  readonly workflow: string;
  readonly tenant: string;
  readonly idempotencyKey: string;
  /** Parsed JSON, already checked against the workflow's contract. */
  readonly input: unknown;
  readonly correlationId?: string;
  readonly traceparent?: string;
}

export type Accepted =
  | { readonly accepted: true; readonly run: RunItem; readonly repeated: boolean }
  | { readonly accepted: false; readonly why: 'other_request' | 'throttled' };

/** Idempotency keys are kept for 30 days. */
const KEY_TTL_SECONDS = 30 * 86_400;

const sha256 = (text: string): string => hash('sha256', text);

/** JSON text with object members in one order, so that equal values give equal text. */
export function canonical(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, part]) => `${JSON.stringify(name)}:${canonical(part)}`).join(',')}}`;
}

/** The parts are joined as JSON, so that no two triples give one hash. */
export const keyHash = (tenant: string, workflow: string, key: string): string =>
  sha256(JSON.stringify([tenant, workflow, key]));

export function trigger(ports: TriggerPorts) {
  const { store, executions, payloads, clock, ids } = ports;

  async function start(request: RunRequest, deployed: DeployedWorkflow, log: Log): Promise<Accepted> {
    const requestHash = sha256(canonical(request.input));
    const bound = await bindKey(request, requestHash);
    if (bound.requestHash !== requestHash) return { accepted: false, why: 'other_request' };
    const { run, created } = await ensureRun(bound.runId, bound.isNew, request, deployed);
    if (!created) log.info('request was seen before', { run: run.runId });
    // A run that is past its first execution was certainly started.
    if (run.status === 'running' && run.execution === 1) {
      const started = await startExecution(executions, run, deployed);
      if (started === 'throttled') return { accepted: false, why: 'throttled' };
    }
    return { accepted: true, run, repeated: !created };
  }

  async function bindKey(request: RunRequest, requestHash: string) {
    const now = Math.floor(clock.now() / 1000);
    const key = keyKey(keyHash(request.tenant, request.workflow, request.idempotencyKey));
    const item = { ...key, runId: ids.runId(), requestHash, expiresAt: now + KEY_TTL_SECONDS };
    const write = await store.put({ item, when: any(absent, where('expiresAt', '<=', now)) });
    if (write.written || write.item === undefined) return { ...item, isNew: true };
    return { ...asKeyItem(write.item), isNew: false };
  }

  /** The run of the key. It may be missing although the key is bound: a crash came between the two. */
  async function ensureRun(runId: string, isNew: boolean, request: RunRequest, deployed: DeployedWorkflow) {
    const found = isNew ? undefined : await store.get(runKey(runId));
    if (found) return { run: asRun(found), created: false };
    const run = await newRun(runId, request, deployed);
    const write = await store.put({ item: run as unknown as Item, when: absent });
    return write.written || write.item === undefined
      ? { run, created: true }
      : { run: asRun(write.item), created: false };
  }

  async function newRun(runId: string, request: RunRequest, deployed: DeployedWorkflow): Promise<RunItem> {
    const now = clock.now();
    const key = `${request.tenant}/${runId}/input.json`;
    const kept = await keepPayload(payloads, key, JSON.stringify(request.input));
    const run: RunItem = {
      ...runKey(runId),
      runId,
      workflow: request.workflow,
      definition: deployed.definition,
      tenant: request.tenant,
      status: 'running',
      execution: 1,
      redrive: 0,
      ...('text' in kept ? { input: kept.text } : { inputRef: kept.ref }),
      correlationId: request.correlationId ?? runId,
      traceparent: request.traceparent ?? `00-${ids.traceId()}-${ids.traceId().slice(0, 16)}-01`,
      startedAt: now,
      updatedAt: now,
      resumes: 0,
      seq: 1,
      checks: 0,
      openShard: openShard(runId),
      checkAt: now + FIRST_CHECK_MS,
    };
    return { ...run, outbox: { ...runOutbox(run, RUN_EVENTS.started, {}, now) } };
  }

  return { start };
}
