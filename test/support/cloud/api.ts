/** The HTTP API by signed requests, as any client of the deployed system sends them. */
import { type SigningKey, signed } from '#adapters/sigv4.ts';
import type { RunView } from '#core/run-view.ts';
import type { Deployment } from './target.ts';

export interface Answer<Body = unknown> {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON; undefined for an empty body. */
  readonly body: Body;
}

export interface Call {
  readonly method?: 'GET' | 'POST';
  /** `/runs/01..`, with its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is. */
  readonly body?: string;
  /** Default: the environment's credentials. `unsigned`: no signature at all. */
  readonly caller?: SigningKey | 'unsigned';
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

const fromEnvironment = (): SigningKey => {
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
    let headers: Record<string, string> = { ...asked.headers };
    if (caller !== 'unsigned') {
      const region = process.env['AWS_REGION'] ?? 'us-east-1';
      const request = {
        method,
        url,
        headers,
        signingName: 'execute-api',
        region,
        ...(body !== undefined && { body }),
      };
      headers = await signed(request, caller);
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
