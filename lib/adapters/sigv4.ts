/** Requests signed by AWS Signature Version 4, by the signer that the SDK's own clients carry. */
import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';

export interface SigningKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface Unsigned {
  readonly method: string;
  /** Path already encoded, see {@link encodedPath}. */
  readonly url: URL;
  /** Names in lower case; all of them are signed. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** `s3`, `execute-api` ... */
  readonly signingName: string;
  readonly region: string;
  /** Epoch milliseconds; AWS takes a quarter of an hour off. Default: now. */
  readonly time?: number;
}

type Source = string | ArrayBuffer | ArrayBufferView;
const bytesOf = (source: Source): string | Uint8Array =>
  typeof source === 'string'
    ? source
    : ArrayBuffer.isView(source)
      ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
      : new Uint8Array(source);

/** node:crypto in the shape in which the signer wants its hash. */
class Sha256 {
  readonly #secret: Source | undefined;
  #hash!: Hash | Hmac;
  constructor(secret?: Source) {
    this.#secret = secret;
    this.reset();
  }
  update(source: Source): void {
    this.#hash.update(bytesOf(source));
  }
  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
  reset(): void {
    this.#hash =
      this.#secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(this.#secret));
  }
}

/** A key as a path: every byte but unreserved ones escaped, slashes kept. */
export const encodedPath = (key: string): string =>
  encodeURIComponent(key)
    .replaceAll('%2F', '/')
    .replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

/** The headers to send: those given, and the ones that sign them. S3 alone signs a path as it is sent. */
export async function signed(request: Unsigned, credentials: SigningKey): Promise<Record<string, string>> {
  const { method, url, headers, body, signingName, region, time } = request;
  const signer = new SignatureV4({
    service: signingName,
    region,
    credentials,
    sha256: Sha256,
    uriEscapePath: signingName !== 's3',
  });
  const signedRequest = await signer.sign(
    {
      method,
      protocol: url.protocol,
      hostname: url.hostname,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: { ...headers, host: url.host },
      ...(body !== undefined && { body }),
    },
    time === undefined ? {} : { signingDate: new Date(time) },
  );
  return signedRequest.headers;
}
