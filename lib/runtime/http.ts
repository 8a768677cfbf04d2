/** HTTP in and out: both API Gateway event formats give one request; every refusal is a problem+json body (RFC 9457). */
import type {
  APIGatewayProxyEvent,
  APIGatewayProxyEventV2,
  APIGatewayProxyStructuredResultV2,
} from 'aws-lambda';

export type HttpEvent = APIGatewayProxyEvent | APIGatewayProxyEventV2;
export type HttpAnswer = APIGatewayProxyStructuredResultV2;

export interface HttpRequest {
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly query: Readonly<Record<string, string | undefined>>;
  /** Every value of a header, by any spelling of its name. HTTP APIs join repeated headers by comma. */
  readonly header: (name: string) => readonly string[];
  /** Bytes as text; `undefined`: none was sent. */
  readonly body: string | undefined;
  /** ARN of the IAM caller, set by the gateway. */
  readonly callerArn: string | undefined;
}

export interface FieldProblem {
  readonly pointer: string;
  readonly detail: string;
}

/** A refusal: thrown anywhere below the entry point, answered as problem+json. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly fields: readonly FieldProblem[];
  readonly headers: Readonly<Record<string, string>>;
  constructor(
    status: number,
    code: string,
    detail: string,
    more: {
      readonly fields?: readonly FieldProblem[];
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ) {
    super(detail);
    this.name = 'Problem';
    this.status = status;
    this.code = code;
    this.fields = more.fields ?? [];
    this.headers = more.headers ?? {};
  }
}

const isV2 = (event: HttpEvent): event is APIGatewayProxyEventV2 =>
  'version' in event && event.version === '2.0';

function headerValues(event: HttpEvent, name: string): string[] {
  const wanted = name.toLowerCase();
  const many = isV2(event) ? {} : (event.multiValueHeaders ?? {});
  const single = event.headers ?? {};
  const values = Object.entries(many)
    .filter(([key]) => key.toLowerCase() === wanted)
    .flatMap(([, list]) => list ?? [])
    .filter(isText);
  if (values.length > 0) return values;
  return Object.entries(single)
    .filter(([key]) => key.toLowerCase() === wanted)
    .map(([, value]) => value)
    .filter(isText);
}

/** Against the types: gateways send null for what is not there. */
const isText = (value: unknown): value is string => typeof value === 'string';

function bodyText(event: HttpEvent): string | undefined {
  if (!isText(event.body) || event.body === '') return undefined;
  if (!event.isBase64Encoded) return event.body;
  const bytes = Buffer.from(event.body, 'base64');
  // Node skips what is no base64: only what comes out the same way was some.
  if (bytes.toString('base64') !== event.body)
    throw new Problem(400, 'body_not_base64', 'the body is marked as base64 and is none');
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Problem(400, 'body_not_utf8', 'the body is not UTF-8');
  }
}

interface IamCaller {
  readonly authorizer?: { readonly iam?: { readonly userArn?: string } };
  readonly identity?: { readonly userArn?: string | null };
}

/** @throws Problem when the body does not decode */
export function readRequest(event: HttpEvent): HttpRequest {
  const context = event.requestContext as unknown as IamCaller | undefined;
  return {
    params: event.pathParameters ?? {},
    query: event.queryStringParameters ?? {},
    header: (name) => headerValues(event, name),
    body: bodyText(event),
    callerArn: context?.authorizer?.iam?.userArn ?? context?.identity?.userArn ?? undefined,
  };
}

export const json = (
  statusCode: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): HttpAnswer => ({
  statusCode,
  headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
  body: JSON.stringify(body),
});

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad request',
  401: 'Not authenticated',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Method not allowed',
  409: 'Conflict',
  413: 'Body too large',
  422: 'Input does not fit',
  429: 'Too many requests',
  500: 'Internal error',
  503: 'Not available',
};

/** The answer for whatever was thrown. Only a {@link Problem} tells details. */
export function problemAnswer(error: unknown): HttpAnswer {
  const problem =
    error instanceof Problem
      ? error
      : isUnavailable(error)
        ? new Problem(503, 'not_available', 'try again in a moment', { headers: { 'retry-after': '2' } })
        : new Problem(500, 'internal', 'the request could not be handled; its log entry has the reason');
  return {
    statusCode: problem.status,
    headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store', ...problem.headers },
    body: JSON.stringify({
      type: `urn:edow:problem:${problem.code}`,
      title: TITLES[problem.status] ?? 'Error',
      status: problem.status,
      detail: problem.message,
      ...(problem.fields.length > 0 ? { errors: problem.fields } : {}),
    }),
  };
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'port_unavailable';
