/** The same HTTP request in both formats of API Gateway, and the entry points behind it in memory. */
import type { APIGatewayProxyEvent, APIGatewayProxyEventV2 } from 'aws-lambda';
import * as z from 'zod/mini';
import { systemClock } from '#adapters/system.ts';
import { defineTask, defineWorkflow, type WorkflowContract } from '#core/contract.ts';
import type { HttpAnswer, HttpEvent } from '#runtime/http.ts';
import { httpEntry } from '#runtime/http-entry.ts';
import { statusHttp } from '#runtime/status-http.ts';
import { triggerHttp } from '#runtime/trigger-http.ts';
import { order } from '#workflows/order/contract.ts';
import { DEPLOYED } from './examples.ts';
import { seededIds } from './memory/determinate.ts';
import { memoryPayloads } from './memory/payloads.ts';
import { memoryExecutions } from './memory/state-machines.ts';
import { memoryStore } from './memory/store.ts';
import { memoryViews } from './memory/views.ts';
import { lambdaContext } from './pool-fixtures.ts';

export interface SentRequest {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  /** In the order and spelling of the client; one name may come several times. */
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: string | null;
  readonly base64?: boolean;
  /** undefined: nobody. Default: a role's session. */
  readonly caller?: string | undefined;
}

export const CALLER = 'arn:aws:sts::000000000000:assumed-role/Shop/session-1';
const callerOf = (request: SentRequest): string | undefined =>
  'caller' in request ? request.caller : CALLER;

/** REST API, format 1.0: names as they were sent, `headers` has the last of each. */
export function v1(request: SentRequest): APIGatewayProxyEvent {
  const headers = request.headers ?? [];
  const many: Record<string, string[]> = {};
  for (const [name, value] of headers) many[name] = [...(many[name] ?? []), value];
  return {
    resource: '/workflows/{name}/runs',
    httpMethod: 'POST',
    headers: Object.fromEntries(headers),
    multiValueHeaders: many,
    pathParameters: request.path ?? null,
    queryStringParameters: request.query ?? null,
    requestContext: { identity: { userArn: callerOf(request) ?? null } },
    body: request.body ?? null,
    isBase64Encoded: request.base64 ?? false,
  } as unknown as APIGatewayProxyEvent;
}

/** HTTP API, format 2.0: names in lower case, doubled headers joined by comma. */
export function v2(request: SentRequest): APIGatewayProxyEventV2 {
  const headers: Record<string, string> = {};
  for (const [name, value] of request.headers ?? []) {
    const known = headers[name.toLowerCase()];
    headers[name.toLowerCase()] = known === undefined ? value : `${known},${value}`;
  }
  const userArn = callerOf(request);
  return {
    version: '2.0',
    routeKey: 'POST /workflows/{name}/runs',
    headers,
    ...(request.path && { pathParameters: request.path }),
    ...(request.query && { queryStringParameters: request.query }),
    requestContext: { ...(userArn !== undefined && { authorizer: { iam: { userArn } } }) },
    ...(request.body !== null && request.body !== undefined && { body: request.body }),
    isBase64Encoded: request.base64 ?? false,
  } as unknown as APIGatewayProxyEventV2;
}

export const FORMATS = [
  { format: 'REST (1.0)', event: v1 },
  { format: 'HTTP API (2.0)', event: v2 },
] as const;

/** A task that hands its input back. */
export const echoTask = defineTask({
  type: 'test.value.echo',
  version: 1,
  input: z.unknown(),
  output: z.unknown(),
  event: 'test.value.echoed',
  timeoutSeconds: 600,
  undo: { none: 'a test' },
});

/** Takes any object. */
export const echo = defineWorkflow({ name: 'echo', input: z.looseObject({}), tasks: [echoTask] });
const orders = defineWorkflow({ name: 'order', input: order, tasks: [] });

const deployed = { ...DEPLOYED };

/** Trigger and status on one store. @param contracts default: `echo` and the reference's `order` */
export function httpApi(contracts: readonly WorkflowContract[] = [echo, orders]) {
  const ports = {
    store: memoryStore(),
    executions: memoryExecutions(),
    payloads: memoryPayloads(),
    clock: systemClock,
    ids: seededIds(systemClock),
    views: memoryViews(),
    contracts: new Map(contracts.map((contract) => [contract.name, contract])),
    deployed: new Map(contracts.map(({ name }) => [name, deployed])),
    tenants: new Map<string, string>(),
  };
  return apiOn(ports);
}

export type HttpPorts = Parameters<typeof triggerHttp>[0] & Parameters<typeof statusHttp>[0];

/** The entry points on these ports. */
export function apiOn<Ports extends HttpPorts>(ports: Ports) {
  const trigger = httpEntry('trigger', triggerHttp(ports));
  const status = httpEntry('status', statusHttp(ports));
  const through = async (entry: typeof trigger, event: HttpEvent): Promise<HttpAnswer> =>
    (await entry(event, lambdaContext() as never)) as HttpAnswer;
  return {
    ...ports,
    /** Hands any event to the trigger. */
    trigger: (event: HttpEvent) => through(trigger, event),
    status: (event: HttpEvent) => through(status, event),
  };
}

/** A request that starts a run. Body: text as it is, anything else as JSON. */
export const startRequest = (body: unknown, key = 'key-1', workflow = 'echo'): SentRequest => ({
  path: { name: workflow },
  headers: [['Idempotency-Key', key]],
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

export const bodyIn = (answer: HttpAnswer): Record<string, unknown> =>
  JSON.parse(answer.body ?? 'null') as Record<string, unknown>;

/** Pointers that a refusal names. */
export const pointersIn = (answer: HttpAnswer): string[] =>
  ((bodyIn(answer)['errors'] ?? []) as { pointer: string }[]).map(({ pointer }) => pointer);
