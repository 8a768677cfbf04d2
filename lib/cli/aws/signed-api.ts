/** The HTTP API, called as any client calls it: signed by SigV4. */
import { type SigningKey, signed } from '#adapters/sigv4.ts';
import { CliError } from '../errors.ts';
import type { Api, RunQuery } from '../ports.ts';

/** As clients of the SDK hold them. */
type Credentials = SigningKey | (() => Promise<SigningKey>);

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
  const base = root.replace(/\/$/, '');
  return async ({ method, path, query = {}, headers = {}, body }: Request): Promise<Response> => {
    const url = new URL(base + path);
    url.search = new URLSearchParams(query).toString().replaceAll('+', '%20');
    const sent = { ...(body !== undefined && { body }) };
    const key = typeof credentials === 'function' ? await credentials() : credentials;
    return fetch(url, {
      method,
      headers: await signed({ method, url, headers, signingName: service, region, ...sent }, key),
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...sent,
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
