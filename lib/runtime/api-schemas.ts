/** Shapes of the HTTP API's answers, once: docs/openapi.json is made of them, and tests hold real answers against them. */
import * as z from 'zod/mini';

const time = z.string().check(z.iso.datetime(), z.describe('ISO 8601, UTC'));
const runId = z.string().check(z.regex(/^[0-9A-HJKMNP-TV-Z]{26}$/), z.describe('A ULID'));
const runStatus = z
  .enum(['running', 'held', 'succeeded', 'failed'])
  .check(z.describe('held: a task is dead; the run waits for a fix and a replay'));
const execution = z
  .int()
  .check(z.positive(), z.describe("Number of the run's execution: 1, then 2 ... as it is resumed"));
const errorClass = z.enum(['retryable', 'permanent', 'throttled', 'unknown-outcome']);

/** 202: the request's run is on record and started, now or before. */
export const acceptedRun = z.object({
  id: runId,
  workflow: z.string(),
  status: runStatus,
  repeated: z.boolean().check(z.describe('True: this Idempotency-Key was seen before, nothing was started')),
});

const attempt = z.object({
  number: z.int(),
  outcome: z.enum(['failed', 'lost']).check(z.describe('lost: its worker never came back')),
  class: z.optional(errorClass),
  error: z.optional(z.string()),
  message: z.optional(z.string().check(z.describe('Bounded and redacted'))),
  startedAt: z.optional(time),
  endedAt: z.optional(time),
  worker: z.optional(z.string().check(z.describe('Version of the code that ran it'))),
});

const step = z.object({
  step: z.string().check(z.describe('Step key: the name of the state')),
  taskId: z.string(),
  type: z.string().check(z.describe('Command type, domain.object.action')),
  status: z.enum(['ready', 'claimed', 'retrying', 'done', 'dead', 'cancelled', 'surplus']),
  started: z.int().check(z.nonnegative(), z.describe('Tries ever begun')),
  enteredAt: time,
  deadline: time,
  endedAt: z.optional(time),
  reason: z.optional(z.enum(['permanent', 'exhausted', 'expired', 'starved', 'unknown', 'key_parked'])),
  failure: z.optional(
    z.object({
      error: z.string(),
      message: z.string(),
      fingerprint: z.string().check(z.describe('The same for failures of one cause')),
    }),
  ),
  attempts: z.array(attempt).check(z.describe('Tries that failed or were lost, oldest first')),
  result: z.optional(z.unknown()),
});

/** 200 of GET /runs/{id}. */
export const run = z.object({
  id: runId,
  workflow: z.string(),
  status: runStatus,
  execution,
  correlationId: z.string(),
  startedAt: time,
  updatedAt: time,
  closedAt: z.optional(time),
  cause: z.optional(
    z.object({
      execution: z.enum(['FAILED', 'TIMED_OUT', 'ABORTED']),
      error: z.optional(z.string()),
      message: z.optional(z.string()),
    }),
  ),
  steps: z.array(step).check(z.describe('In the order in which they were first entered')),
  timeline: z
    .array(
      z.object({
        time,
        type: z.string().check(z.describe('Event type')),
        subject: z.string().check(z.describe('The task, or the run, that it happened to')),
        detail: z.optional(z.string()),
      }),
    )
    .check(z.describe('What happened, in order of time, as events told it: lags a little behind the rest')),
  output: z.optional(z.unknown()),
});

/** 200 of GET /runs. */
export const runList = z.object({
  runs: z
    .array(
      z.object({
        id: runId,
        workflow: z.string(),
        status: runStatus,
        execution,
        startedAt: time,
        updatedAt: time,
      }),
    )
    .check(z.maxLength(100), z.describe('Newest first')),
  next: z.optional(z.string().check(z.describe('Opaque: hand it back as "cursor". Absent on the last page'))),
  staleness: z.string().check(z.describe('How far the list may lag behind')),
});

/** Every refusal of ours, RFC 9457. */
export const problem = z.object({
  type: z.string().check(z.regex(/^urn:edow:problem:[a-z0-9_]+$/), z.describe('Stable: what to branch on')),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  errors: z.optional(
    z.array(
      z.object({
        pointer: z
          .string()
          .check(z.describe('Where: JSON Pointer into the body, or #/header/.., #/path/.., #/query/..')),
        detail: z.string(),
      }),
    ),
  ),
});

/** What API Gateway itself says before a request reaches us: not signed, no permission, over its own rate or size. */
export const gatewayMessage = z.object({ message: z.string() });
