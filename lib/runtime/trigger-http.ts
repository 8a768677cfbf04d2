/** POST /workflows/{name}/runs: from an HTTP request to an accepted run. */
import { checkValue, type WorkflowContract } from '#core/contract.ts';
import type { DeployedWorkflow } from '#core/env-names.ts';
import { parseJson, UnsafeJson } from '#core/json-text.ts';
import type { Log } from '#core/ports.ts';
import { tenantOf } from '#core/tenant.ts';
import { type TriggerPorts, trigger } from '#core/trigger.ts';
import { type HttpAnswer, type HttpRequest, json, Problem } from './http.ts';

/** Bytes of a request's body. Larger inputs belong into a bucket, their place into the body. */
export const MAX_BODY_BYTES = 200 * 1024;

/** Printable ASCII without comma (by which gateways join doubled headers), 1 to 255 characters. */
const IDEMPOTENCY_KEY = /^[\x21-\x2b\x2d-\x7e](?:[\x20-\x2b\x2d-\x7e]{0,253}[\x21-\x2b\x2d-\x7e])?$/;
const TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const CORRELATION_ID = /^[\x21-\x7e]{1,128}$/;

/** Start rates recover within seconds: the start bucket refills at hundreds a second. */
const RETRY_AFTER_SECONDS = '2';

export interface TriggerHttpPorts extends TriggerPorts {
  readonly contracts: ReadonlyMap<string, WorkflowContract>;
  readonly deployed: ReadonlyMap<string, DeployedWorkflow>;
  readonly tenants: ReadonlyMap<string, string>;
}

function idempotencyKey(request: HttpRequest): string {
  const values = new Set(request.header('idempotency-key').map((value) => value.trim()));
  const [key, ...others] = values;
  const refuse = (detail: string) =>
    new Problem(400, 'idempotency_key', detail, {
      fields: [{ pointer: '#/header/Idempotency-Key', detail }],
    });
  if (key === undefined || key === '' || key === 'null' || key === 'undefined')
    throw refuse(
      'the header Idempotency-Key is required: one value for one intended run, for example a UUID',
    );
  if (others.length > 0 || key.includes(',')) throw refuse('send one Idempotency-Key, without commas');
  if (!IDEMPOTENCY_KEY.test(key))
    throw refuse('an Idempotency-Key has 1 to 255 printable ASCII characters and no comma');
  return key;
}

function parsedBody(request: HttpRequest): unknown {
  if (request.body === undefined) throw new Problem(400, 'body_missing', 'a JSON body is required');
  const bytes = Buffer.byteLength(request.body);
  if (bytes > MAX_BODY_BYTES)
    throw new Problem(
      413,
      'body_too_large',
      `the body has ${bytes} bytes; at most ${MAX_BODY_BYTES} are taken`,
    );
  try {
    return parseJson(request.body);
  } catch (error) {
    if (error instanceof UnsafeJson)
      throw new Problem(400, 'body_unsafe', error.message, {
        fields: [{ pointer: `#${error.pointer}`, detail: error.message }],
      });
    throw new Problem(400, 'body_not_json', 'the body is not JSON');
  }
}

export function triggerHttp(ports: TriggerHttpPorts) {
  const { start } = trigger(ports);

  return async (request: HttpRequest, log: Log): Promise<HttpAnswer> => {
    const tenant = tenantOf(request.callerArn, ports.tenants);
    if (tenant === undefined) throw new Problem(403, 'no_tenant', 'this caller belongs to no tenant');
    const name = request.params['name'] ?? '';
    const contract = ports.contracts.get(name);
    const deployed = ports.deployed.get(name);
    if (contract === undefined || deployed === undefined)
      throw new Problem(404, 'unknown_workflow', 'there is no workflow of this name', {
        fields: [{ pointer: '#/path/name', detail: 'no workflow of this name is deployed' }],
      });
    const key = idempotencyKey(request);
    const checked = checkValue(contract.input, parsedBody(request));
    if (!checked.ok)
      throw new Problem(422, 'input_invalid', `the body does not fit the input of workflow ${name}`, {
        fields: checked.problems.map(({ pointer, detail }) => ({ pointer: `#${pointer}`, detail })),
      });
    const traceparent = single(request, 'traceparent', TRACEPARENT);
    const correlationId = single(request, 'x-correlation-id', CORRELATION_ID);
    const accepted = await start(
      {
        workflow: name,
        tenant,
        idempotencyKey: key,
        input: checked.value,
        ...(correlationId === undefined ? {} : { correlationId }),
        ...(traceparent === undefined ? {} : { traceparent }),
      },
      deployed,
      log,
    );
    if (accepted.accepted) {
      const { runId, workflow, status } = accepted.run;
      log.info('run accepted', { run: runId, workflow, repeated: accepted.repeated });
      return json(
        202,
        { id: runId, workflow, status, repeated: accepted.repeated },
        { location: `/runs/${runId}` },
      );
    }
    if (accepted.why === 'throttled')
      throw new Problem(
        429,
        'start_throttled',
        'too many runs start at this moment: send the same request again',
        {
          headers: { 'retry-after': RETRY_AFTER_SECONDS },
        },
      );
    throw new Problem(409, 'key_reused', 'this Idempotency-Key was used for another body: choose a new key');
  };
}

/** An optional header with one well-formed value; anything else counts as not sent. */
const single = (request: HttpRequest, name: string, form: RegExp): string | undefined => {
  const [value, ...others] = request.header(name);
  return value !== undefined && others.length === 0 && form.test(value) ? value : undefined;
};
