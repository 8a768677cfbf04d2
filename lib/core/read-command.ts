/** Reads a command from bytes that anybody may have sent. Apart from envelope.ts, so that only readers carry the schema code. */
import * as z from 'zod/mini';
import { type Command, sourceOf } from './envelope.ts';

/** Text that is there, of so many characters at most. */
export const text = (max: number) => z.string().check(z.minLength(1), z.maxLength(max));
export const whole = z.number().check(z.int(), z.nonnegative());

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

/** Why a message is none of ours. Never repeats the content. A class: no member of a message can pretend to be one. */
export class Unreadable {
  readonly problem: string;
  /** Known noise: nobody waits for it, and nobody need look at it. */
  readonly harmless: boolean;
  constructor(problem: string, harmless = false) {
    this.problem = problem;
    this.harmless = harmless;
  }
}

export const isUnreadable = (read: unknown): read is Unreadable => read instanceof Unreadable;

/** What S3 sends to every target when its notifications are configured. */
const isTestNotification = (value: unknown): boolean => {
  const { Service, Event } = (value ?? {}) as Record<string, unknown>;
  return Service === 'Amazon S3' && Event === 's3:TestEvent';
};

/** Reads a message body by a schema; anything else gives the reason. */
export function readAs<S extends z.core.$ZodType>(schema: S, body: string): z.infer<S> | Unreadable {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return new Unreadable('the body is not JSON');
  }
  if (isTestNotification(value)) return new Unreadable('a test notification of S3', true);
  const parsed = z.safeParse(schema, value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue?.path.length
    ? `attribute "${issue.path.map(String).join('.').slice(0, 60)}"`
    : 'the envelope';
  return new Unreadable(`${where} is missing or malformed`);
}

/** Reads a command from a message body; anything else gives the reason. */
export function parseCommand(body: string): Command | Unreadable {
  const command = readAs(commandSchema, body);
  if (isUnreadable(command)) return command;
  if (command.id !== `${command.runid}/${command.step}/0`)
    return new Unreadable('the id is not that of the run and step');
  // Source and id together are a message's identity: the id alone makes no copy of a task.
  if (command.source !== sourceOf(command.workflow))
    return new Unreadable('the source is not that of the workflow');
  if ((command.data === undefined) === (command.dataref === undefined))
    return new Unreadable('exactly one of "data" and "dataref" must be there');
  if ('data_base64' in command)
    return new Unreadable('data as "data_base64" is not taken: send JSON as "data"');
  return command as Command;
}
