/**
 * The envelope of commands and events: a CloudEvents 1.0 JSON object (names lower case, as the spec demands).
 * Everything that is published is made here and nowhere else.
 */
import * as z from 'zod/mini';
import { schemaUri } from './contract.ts';

export interface Envelope {
  readonly specversion: '1.0';
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly time: string;
  readonly subject?: string;
  readonly datacontenttype: 'application/json';
  readonly dataschema?: string;
  readonly data?: unknown;
  /** Pointer to the data where it is too large to travel (CloudEvents extension `dataref`). */
  readonly dataref?: string;
  readonly correlationid: string;
  readonly causationid: string;
  /** W3C trace context. */
  readonly traceparent: string;
  readonly tenant: string;
}

/** A command: its id is the taskId, so all copies are duplicates of one another. */
export interface Command extends Envelope {
  readonly workflow: string;
  readonly runid: string;
  readonly step: string;
  /** Ordered execution number, see items.ts. */
  readonly execution: number;
  readonly entry: number;
  /** ISO 8601: when the step gives up. A hint; the item decides. */
  readonly deadline: string;
  readonly trylimit: number;
}

export const sourceOf = (workflow: string): string => `urn:edow:workflow:${workflow}`;

export interface CommandParts {
  readonly taskId: string;
  readonly workflow: string;
  readonly runId: string;
  readonly stepKey: string;
  readonly contract: { readonly type: string; readonly version: number; readonly tries: number };
  readonly tenant: string;
  readonly correlationId: string;
  readonly traceparent: string;
  readonly execution: number;
  readonly entry: number;
  readonly enteredAt: number;
  readonly deadline: number;
  readonly data?: unknown;
  readonly dataref?: string;
}

export function commandOf(parts: CommandParts): Command {
  return {
    specversion: '1.0',
    id: parts.taskId,
    source: sourceOf(parts.workflow),
    type: parts.contract.type,
    time: new Date(parts.enteredAt).toISOString(),
    subject: parts.runId,
    datacontenttype: 'application/json',
    dataschema: schemaUri(parts.contract.type, parts.contract.version),
    ...(parts.dataref === undefined ? { data: parts.data } : { dataref: parts.dataref }),
    correlationid: parts.correlationId,
    causationid: parts.runId,
    traceparent: parts.traceparent,
    tenant: parts.tenant,
    workflow: parts.workflow,
    runid: parts.runId,
    step: parts.stepKey,
    execution: parts.execution,
    entry: parts.entry,
    deadline: new Date(parts.deadline).toISOString(),
    trylimit: parts.contract.tries,
  };
}

const text = (max: number) => z.string().check(z.minLength(1), z.maxLength(max));
const whole = z.number().check(z.int(), z.nonnegative());

const commandSchema = z.looseObject({
  specversion: z.literal('1.0'),
  id: text(400),
  source: text(200),
  type: text(120),
  time: text(40),
  subject: z.optional(text(200)),
  datacontenttype: z.literal('application/json'),
  dataschema: z.optional(text(300)),
  data: z.optional(z.unknown()),
  dataref: z.optional(text(1200)),
  correlationid: text(200),
  causationid: text(400),
  traceparent: text(80),
  tenant: text(100),
  workflow: text(40),
  runid: text(40),
  step: text(64),
  execution: whole,
  entry: whole,
  deadline: z.iso.datetime(),
  trylimit: z.number().check(z.int(), z.positive()),
});

/** Why a message is no command of ours. Never repeats the content. */
export interface Unreadable {
  readonly problem: string;
}

/** Reads a command from a message body; anything else gives the reason. */
export function parseCommand(body: string): Command | Unreadable {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return { problem: 'the body is not JSON' };
  }
  const parsed = z.safeParse(commandSchema, value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const where = issue?.path.length
      ? `attribute "${issue.path.map(String).join('.').slice(0, 60)}"`
      : 'the envelope';
    return { problem: `${where} is missing or malformed` };
  }
  const command = parsed.data;
  if (command.id !== `${command.runid}/${command.step}/0`)
    return { problem: 'the id is not that of the run and step' };
  if ((command.data === undefined) === (command.dataref === undefined))
    return { problem: 'exactly one of "data" and "dataref" must be there' };
  return command as Command;
}

export const isUnreadable = (parsed: Command | Unreadable): parsed is Unreadable => 'problem' in parsed;
