/** The HTTP API by signed requests, as any client of the deployed system sends them. */
import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';
import type { RunView } from '#core/run-view.ts';
import type { Deployment } from './target.ts';

export interface Answer<Body = unknown> {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON; undefined for an empty body. */
  readonly body: Body;
}

export interface Caller {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface Call {
  readonly method?: 'GET' | 'POST';
  /** `/runs/01..`, with its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is. */
  readonly body?: string;
  /** Default: the environment's credentials. `unsigned`: no signature at all. */
  readonly caller?: Caller | 'unsigned';
}

/** RFC 9457. */
export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
}

export interface Accepted {
  readonly id: string;
  readonly workflow: string;
  readonly status: string;
  readonly repeated: boolean;
}

export interface RunPage {
  readonly runs: readonly {
    readonly id: string;
    readonly workflow: string;
    readonly status: string;
    readonly execution: number;
    readonly startedAt: string;
    readonly updatedAt: string;
  }[];
  readonly next?: string;
  readonly staleness: string;
}

class Sha256 {
  readonly #hash: Hash | Hmac;
  constructor(secret?: string | Uint8Array | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', secret as Uint8Array);
  }
  update(chunk: string | Uint8Array): void {
    this.#hash.update(chunk);
  }
  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }
  reset(): void {}
}

const fromEnvironment = (): Caller => {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env;
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY)
    throw new Error(
      'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set: the API takes signed calls only',
    );
  return {
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    ...(AWS_SESSION_TOKEN && { sessionToken: AWS_SESSION_TOKEN }),
  };
};

export function api({ apiUrl }: Pick<Deployment, 'apiUrl'>) {
  async function call<Body = unknown>(asked: Call): Promise<Answer<Body>> {
    const { method = 'GET', path, body, caller = fromEnvironment() } = asked;
    const url = new URL(apiUrl + path);
    const request = {
      method,
      protocol: url.protocol,
      hostname: url.hostname,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: { host: url.host, ...asked.headers },
      ...(body !== undefined && { body }),
    };
    let headers: Record<string, string> = request.headers;
    if (caller !== 'unsigned') {
      const region = process.env['AWS_REGION'] ?? 'us-east-1';
      const signer = new SignatureV4({ credentials: caller, region, service: 'execute-api', sha256: Sha256 });
      headers = (await signer.sign(request)).headers;
    }
    const { host: _host, ...sent } = headers;
    const answer = await fetch(url, { method, headers: sent, ...(body !== undefined && { body }) });
    const text = await answer.text();
    return {
      status: answer.status,
      headers: answer.headers,
      body: (text === '' ? undefined : JSON.parse(text)) as Body,
    };
  }

  return {
    call,
    start: (workflow: string, key: string, input: unknown, more: Partial<Call> = {}) =>
      call<Accepted>({
        method: 'POST',
        path: `/workflows/${workflow}/runs`,
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify(input),
        ...more,
      }),
    run: (id: string) => call<RunView>({ path: `/runs/${id}` }),
    runs: (query = '') => call<RunPage>({ path: `/runs${query}` }),
  };
}

export type Api = ReturnType<typeof api>;
