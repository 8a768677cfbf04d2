/** The HTTP API, called as any client calls it: signed by SigV4. */
import { createHash, createHmac, type Hash } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';
import { CliError } from '../errors.ts';
import type { Api, RunQuery } from '../ports.ts';

/** The shape in which the signer wants its hash. */
class Sha256 {
  readonly #secret: string | ArrayBufferView | undefined;
  #hash: Hash | ReturnType<typeof createHmac>;
  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#secret = secret instanceof ArrayBuffer ? new Uint8Array(secret) : secret;
    this.#hash = this.#begin();
  }
  #begin() {
    return this.#secret === undefined
      ? createHash('sha256')
      : createHmac('sha256', this.#secret as NodeJS.ArrayBufferView);
  }
  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(data instanceof ArrayBuffer ? new Uint8Array(data) : (data as NodeJS.ArrayBufferView));
  }
  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
  reset(): void {
    this.#hash = this.#begin();
  }
}

type Credentials = ConstructorParameters<typeof SignatureV4>[0]['credentials'];

interface Request {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const TIMEOUT_MS = 30_000; // API Gateway itself gives up after 30 s

/**
 * One signed request.
 * @param root of the service, without a slash at its end; its path is signed too
 */
export function signedFetch(root: string, service: string, region: string, credentials: Credentials) {
  const base = new URL(root);
  const signer = new SignatureV4({ service, region, credentials, sha256: Sha256 });
  return async ({ method, path, query = {}, headers = {}, body }: Request): Promise<Response> => {
    const pathname = `${base.pathname.replace(/\/$/, '')}${path}`;
    const signed = await signer.sign({
      method,
      protocol: base.protocol,
      hostname: base.hostname,
      path: pathname,
      query,
      headers: { ...headers, host: base.host },
      ...(body !== undefined && { body }),
    });
    const search = new URLSearchParams(query).toString().replaceAll('+', '%20');
    return fetch(`${base.origin}${pathname}${search && `?${search}`}`, {
      method,
      headers: signed.headers,
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body !== undefined && { body }),
    });
  };
}

interface ProblemBody {
  readonly type?: string;
  readonly detail?: string;
  readonly message?: string;
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
}

/** What to do about each refusal, by its code (the last part of the problem's type). */
const NEXT: Readonly<Record<string, string>> = {
  unknown_run: 'List the runs: npx edow runs',
  unknown_workflow: 'List what is deployed: npx edow status',
  input_invalid:
    "Correct the input; the workflow's contract says what it takes (lib/workflows/<name>/contract.ts)",
  body_not_json: 'Hand in one JSON value: --input order.json, or --input - for standard input.',
  key_reused: 'Choose another --key for another request, or send the first request again.',
  idempotency_key: 'Give one: --key "order 4711" (1 to 255 printable ASCII characters, no comma)',
  start_throttled: 'Send the same request with the same key again in a moment.',
  no_tenant: 'The stage maps callers to tenants (-c tenants=...): use a role that is in that map.',
};

async function refusal(response: Response): Promise<CliError> {
  const text = await response.text();
  let problem: ProblemBody = {};
  try {
    problem = JSON.parse(text);
  } catch {
    // Not ours: a gateway's page.
  }
  const code = problem.type?.split(':').at(-1) ?? `http_${response.status}`;
  // Where a request is malformed its fields say more; elsewhere they repeat the detail.
  const isMalformed = response.status === 400 || response.status === 422;
  const named = (problem.errors ?? []).filter(({ detail }) => isMalformed && detail !== problem.detail);
  const fields = named.map(({ pointer, detail }) => `${pointer} ${detail}`);
  const what = [problem.detail ?? problem.message ?? response.statusText, ...fields].join('; ');
  const gateway =
    response.status === 403
      ? 'Your credentials need execute-api:Invoke on this API.'
      : 'Read the logs: npx edow logs trigger, npx edow logs status';
  return new CliError(code, `the API answered ${response.status}: ${what}`, NEXT[code] ?? gateway);
}

/** @param root of the API, without a slash at its end */
export function signedApi(root: string, region: string, credentials: Credentials): Api {
  const send = signedFetch(root, 'execute-api', region, credentials);
  const json = async <T>(request: Request): Promise<T> => {
    const response = await send(request);
    if (!response.ok) throw await refusal(response);
    return (await response.json()) as T;
  };
  return {
    start: (workflow, key, body) =>
      json({
        method: 'POST',
        path: `/workflows/${encodeURIComponent(workflow)}/runs`,
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
        body,
      }),
    run: (id) => json({ method: 'GET', path: `/runs/${encodeURIComponent(id)}` }),
    runs: (query) => json({ method: 'GET', path: '/runs', query: queryOf(query) }),
  };
}

const queryOf = ({ workflow, status, limit, cursor }: RunQuery): Record<string, string> => ({
  ...(workflow !== undefined && { workflow }),
  ...(status !== undefined && { status }),
  ...(limit !== undefined && { limit: String(limit) }),
  ...(cursor !== undefined && { cursor }),
});
