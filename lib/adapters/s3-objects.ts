/**
 * Two requests of S3, put and get of one small object, without its SDK client: that weighs 200 KB in a bundle, half
 * of a function, because its schemas cannot be dropped.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock, Ids } from '#core/ports.ts';
import { CLIENT } from './client-config.ts';
import { defaultProvider } from './env-credentials.ts';
import { MAX_PAYLOAD_BYTES } from './payload-body.ts';
import { encodedPath, type SigningKey, signed } from './sigv4.ts';
import { systemClock, systemIds } from './system.ts';

export interface ObjectsParts {
  readonly bucket: string;
  /** Default: AWS_REGION. */
  readonly region?: string;
  /** Default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, then the region's own, as the SDK has it. */
  readonly endpoint?: string;
  /** Default: those of the environment, as in every function. */
  readonly credentials?: () => Promise<SigningKey>;
  readonly clock?: Clock;
  readonly ids?: Pick<Ids, 'random'>;
  /** Gets the name of each request as it is sent, `S3.PutObject`: for a meter. */
  readonly onRequest?: (name: string) => void;
}

export interface Objects {
  /** @param until ends the call early */
  put(key: string, body: Buffer, until?: AbortSignal): Promise<void>;
  get(key: string, until?: AbortSignal): Promise<Buffer>;
}

const { maxAttempts, requestHandler } = CLIENT;
const TIMEOUT_MS = requestHandler.connectionTimeout + requestHandler.requestTimeout;
const NOTHING = Buffer.alloc(0);
/** Upper bound of the wait before the second try. */
const RETRY_WAIT_MS = 100;

const regionalEndpoint = (region: string): string =>
  `https://s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;

/** What S3 said, in the form of the SDK's errors. */
function serviceError(status: number, body: string): Error {
  const name = /<Code>(\w+)<\/Code>/.exec(body)?.[1] ?? `Status${status}`;
  const facts = { $fault: status < 500 ? 'client' : 'server', $metadata: { httpStatusCode: status } };
  return Object.assign(new Error(`S3 answered ${status} ${name}`), { name, ...facts });
}

export function s3Objects(parts: ObjectsParts): Objects {
  const { env } = process;
  const region = parts.region ?? env['AWS_REGION'] ?? 'us-east-1';
  const endpoint =
    parts.endpoint ?? env['AWS_ENDPOINT_URL_S3'] ?? env['AWS_ENDPOINT_URL'] ?? regionalEndpoint(region);
  const { bucket, credentials = defaultProvider(), clock = systemClock, ids = systemIds() } = parts;

  async function once(
    method: 'GET' | 'PUT',
    key: string,
    body: Buffer,
    until?: AbortSignal,
  ): Promise<Buffer> {
    // The path names the bucket: that works at every endpoint, also where no name resolves below it.
    const url = new URL(`/${bucket}/${encodedPath(key)}`, endpoint);
    const headers: Record<string, string> = method === 'PUT' ? { 'content-type': 'application/json' } : {};
    const response = await fetch(url, {
      method,
      headers: await signed(
        { method, url, headers, body, signingName: 's3', region, time: clock.now() },
        await credentials(),
      ),
      ...(method === 'PUT' && { body }),
      redirect: 'error',
      signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(until ? [until] : [])]),
    });
    if (Number(response.headers.get('content-length')) > MAX_PAYLOAD_BYTES)
      throw Object.assign(new Error('an object is too long'), { name: 'TooLong', $fault: 'client' });
    const answer = Buffer.from(await response.arrayBuffer());
    if (!response.ok) throw serviceError(response.status, answer.toString());
    return answer;
  }

  async function send(
    method: 'GET' | 'PUT',
    key: string,
    body: Buffer,
    until?: AbortSignal,
  ): Promise<Buffer> {
    for (let attempt = 1; ; attempt++) {
      parts.onRequest?.(method === 'PUT' ? 'S3.PutObject' : 'S3.GetObject');
      try {
        return await once(method, key, body, until);
      } catch (error) {
        const refused = (error as { $fault?: string }).$fault === 'client';
        if (refused || until?.aborted || attempt === maxAttempts) throw error;
        await pause(ids.random() * RETRY_WAIT_MS);
      }
    }
  }

  return {
    put: async (key, body, until) => void (await send('PUT', key, body, until)),
    get: (key, until) => send('GET', key, NOTHING, until),
  };
}
