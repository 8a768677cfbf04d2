/** The HTTP API as an OpenAPI 3.1 document, made of the contracts' schemas and of api-schemas.ts. */
import * as z from 'zod/mini';
import type { WorkflowContract } from '#core/contract.ts';
import { acceptedRun, gatewayMessage, problem, run, runList } from './api-schemas.ts';
import { MAX_BODY_BYTES } from './trigger-http.ts';

/** Codes of our own problems, by status: the last part of a problem's `type`. */
export const PROBLEMS: Readonly<Record<number, readonly string[]>> = {
  400: [
    'bad_query',
    'body_missing',
    'body_not_base64',
    'body_not_json',
    'body_not_utf8',
    'body_unsafe',
    'idempotency_key',
  ],
  403: ['no_tenant'],
  404: ['unknown_run', 'unknown_workflow'],
  409: ['key_reused'],
  413: ['body_too_large'],
  422: ['input_invalid'],
  429: ['start_throttled'],
  500: ['internal'],
  503: ['not_available'],
};

const MEANING: Readonly<Record<number, string>> = {
  400: 'Header, query or body cannot be read. Sending it again does not help.',
  403: 'Not signed, not allowed by IAM (both said by API Gateway), or a caller without a tenant.',
  404: 'No workflow or run of this name or id, or it belongs to another tenant.',
  409: 'The Idempotency-Key was used for another body.',
  413: `The body is larger than ${MAX_BODY_BYTES} bytes.`,
  422: "The body does not fit the workflow's input; `errors` says where.",
  429: 'Too many starts or requests at this moment: send the same request, with the same key, again.',
  500: 'Our fault; the log has the reason.',
  503: 'A part is not available: send the same request, with the same key, again.',
};

/** Statuses that API Gateway answers by itself, with a body of its own. */
const OF_GATEWAY = [403, 413, 429, 500, 503];
const RETRY_AFTER = {
  'Retry-After': {
    description: 'Seconds. Sent with our own answer, not with that of API Gateway',
    schema: { type: 'integer', minimum: 1 },
  },
};

const schemaOf = (schema: z.core.$ZodType): object => {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      // The pattern of zod's date-time is 300 characters that say what `format` says.
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
    },
  });
  return rest;
};

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const json = (name: string) => ({ 'application/json': { schema: ref(name) } });

function refusal(status: number): object {
  const codes = PROBLEMS[status] ?? [];
  return {
    description: `${MEANING[status]} Problem types: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
    ...(status === 429 || status === 503 ? { headers: RETRY_AFTER } : {}),
    content: {
      'application/problem+json': { schema: ref('Problem') },
      ...(OF_GATEWAY.includes(status) ? json('GatewayMessage') : {}),
    },
  };
}

const refusals = (...statuses: readonly number[]): object =>
  Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/Problem${status}` }]));

const parameter = (name: string) => ({ $ref: `#/components/parameters/${name}` });
const capital = (name: string): string =>
  name.replace(/(?:^|-)([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());

const startOf = ({ name }: WorkflowContract): object => ({
  post: {
    operationId: `start${capital(name)}`,
    summary: `Start a run of workflow ${name}`,
    description:
      'The same key with the same body is the same run: ask again whenever an answer is lost. A key is kept for 30 days.',
    tags: ['runs'],
    parameters: [parameter('IdempotencyKey'), parameter('CorrelationId'), parameter('Traceparent')],
    requestBody: { required: true, content: json(`${capital(name)}Input`) },
    responses: {
      202: {
        description: 'The run is on record and started, now or by an earlier request with this key.',
        headers: { Location: { description: 'Where the run is shown', schema: { type: 'string' } } },
        content: json('AcceptedRun'),
      },
      ...refusals(400, 403, 404, 409, 413, 422, 429, 500, 503),
    },
  },
});

const SHOW_RUN = {
  get: {
    operationId: 'showRun',
    summary: 'Show a run: its state, steps, tries, failures and output',
    description: 'Always current.',
    tags: ['runs'],
    parameters: [
      {
        name: 'id',
        in: 'path',
        required: true,
        schema: { type: 'string', pattern: '^[0-9A-HJKMNP-TV-Z]{26}$' },
      },
    ],
    responses: {
      200: { description: 'The run.', content: json('Run') },
      ...refusals(403, 404, 429, 500, 503),
    },
  },
};

const query = (name: string, description: string, schema: object) => ({
  name,
  in: 'query',
  description,
  schema,
});

const listRuns = (contracts: readonly WorkflowContract[]): object => ({
  get: {
    operationId: 'listRuns',
    summary: "List the caller's runs, newest first",
    description:
      'Lags behind by usually under 2 seconds. A page may hold fewer runs than asked for and still have a next one.',
    tags: ['runs'],
    parameters: [
      query('workflow', 'Only runs of this workflow', {
        type: 'string',
        examples: contracts.map(({ name }) => name),
      }),
      query('status', 'Only runs of this status', {
        type: 'string',
        enum: ['running', 'held', 'succeeded', 'failed'],
      }),
      query('limit', 'Most runs of a page', { type: 'integer', minimum: 1, maximum: 100, default: 20 }),
      query('cursor', '`next` of the page before', { type: 'string' }),
    ],
    responses: {
      200: { description: 'One page.', content: json('RunList') },
      ...refusals(400, 403, 429, 500, 503),
    },
  },
});

const PARAMETERS = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: true,
    description: 'One value for one intended run, for example a UUID. Printable ASCII without comma.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x20-\\x2b\\x2d-\\x7e]+$' },
  },
  CorrelationId: {
    name: 'X-Correlation-Id',
    in: 'header',
    description: 'Travels with every command and event of the run. Default: the run id.',
    schema: { type: 'string', minLength: 1, maxLength: 128, pattern: '^[\\x21-\\x7e]+$' },
  },
  Traceparent: {
    name: 'traceparent',
    in: 'header',
    description: 'W3C trace context. Default: a new trace.',
    schema: { type: 'string', pattern: '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$' },
  },
};

/** @param version of the package, as the document's own */
export function openApi(contracts: readonly WorkflowContract[], version: string): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'edow',
      version,
      summary: 'Starts runs of workflows and shows them.',
      description:
        'Every call is signed (AWS Signature Version 4, service `execute-api`). What a caller sees and starts belongs to its tenant, which follows from its IAM role or user.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [
      {
        url: 'https://{apiId}.execute-api.{region}.amazonaws.com',
        description: 'Output `ApiUrl` of the pipeline stack',
        variables: { apiId: { default: 'abcdef1234' }, region: { default: 'eu-central-1' } },
      },
    ],
    security: [{ sigv4: [] }],
    tags: [{ name: 'runs', description: 'Runs of workflows' }],
    paths: {
      ...Object.fromEntries(
        contracts.map((contract) => [`/workflows/${contract.name}/runs`, startOf(contract)]),
      ),
      '/runs': listRuns(contracts),
      '/runs/{id}': SHOW_RUN,
    },
    components: {
      securitySchemes: {
        sigv4: {
          type: 'apiKey',
          in: 'header',
          name: 'Authorization',
          description: 'AWS Signature Version 4',
          'x-amazon-apigateway-authtype': 'awsSigv4',
        },
      },
      parameters: PARAMETERS,
      responses: Object.fromEntries(
        Object.keys(PROBLEMS).map((status) => [`Problem${status}`, refusal(Number(status))]),
      ),
      schemas: {
        ...Object.fromEntries(contracts.map(({ name, input }) => [`${capital(name)}Input`, schemaOf(input)])),
        AcceptedRun: schemaOf(acceptedRun),
        Run: schemaOf(run),
        RunList: schemaOf(runList),
        Problem: schemaOf(problem),
        GatewayMessage: schemaOf(gatewayMessage),
      },
    },
  };
}
