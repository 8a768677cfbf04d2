/**
 * AWS Signature Version 4 for S3, as AWS documents it ("Authenticating Requests: Using the Authorization Header"):
 * the path is encoded once, and the hash of the body is signed, so that S3 checks what arrives.
 */
import { createHash, createHmac } from 'node:crypto';

export interface SigningKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface Unsigned {
  readonly method: 'GET' | 'PUT';
  /** Path already encoded, see {@link encodedPath}; no query. */
  readonly url: URL;
  /** Names in lower case; all of them are signed. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly region: string;
  /** Epoch milliseconds; S3 takes a quarter of an hour off. */
  readonly time: number;
}

const hash = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** A key as a path: every byte but unreserved ones escaped, slashes kept. */
export const encodedPath = (key: string): string =>
  encodeURIComponent(key)
    .replaceAll('%2F', '/')
    .replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

/** The headers to send: those given, and the ones that sign them. */
export function signed(request: Unsigned, key: SigningKey): Record<string, string> {
  const { method, url, body, region, time } = request;
  const stamp = new Date(time).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const day = stamp.slice(0, 8);
  const headers: Record<string, string> = {
    ...request.headers,
    'x-amz-content-sha256': hash(body),
    'x-amz-date': stamp,
    ...(key.sessionToken && { 'x-amz-security-token': key.sessionToken }),
  };
  const lines = Object.entries({ ...headers, host: url.host })
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, value]) => [name, value.trim()] as const);
  const names = lines.map(([name]) => name).join(';');
  const canonical = [
    method,
    url.pathname,
    '',
    ...lines.map(([name, value]) => `${name}:${value}`),
    '',
    names,
    hash(body),
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', stamp, scope, hash(canonical)].join('\n');
  const signingKey = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(
    hmac,
    `AWS4${key.secretAccessKey}`,
  );
  const signature = hmac(signingKey, toSign).toString('hex');
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${key.accessKeyId}/${scope},SignedHeaders=${names},Signature=${signature}`,
  };
}
