/** Reads a command from bytes that anybody may have sent. Apart from envelope.ts, so that only readers carry the checks. */
import { type Command, sourceOf } from './envelope.ts';
import { isDeeper, MESSAGE_LEVELS, tooDeep } from './nesting.ts';

type Check = (value: unknown) => boolean;

/** Text that is there, of so many characters at most. */
const text =
  (max: number): Check =>
  (value) =>
    typeof value === 'string' && value.length > 0 && value.length <= max;
const literal =
  (wanted: string): Check =>
  (value) =>
    value === wanted;
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const whole =
  (least: number): Check =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= least;

const INSTANT =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?Z$/;
const SHORTEST_MONTH = 28;
/** ISO 8601 in UTC with seconds. A day that its month does not have would be read as one of the next. */
const instant: Check = (value) => {
  if (typeof value !== 'string' || !INSTANT.test(value)) return false;
  const day = Number(value.slice(8, 10));
  return day <= SHORTEST_MONTH || new Date(value).getUTCDate() === day;
};

/**
 * By hand and not by a schema: every delivery passes here, and a schema costs four times as much. In the order in
 * which problems are told.
 */
const COMMAND = Object.entries({
  specversion: literal('1.0'),
  id: text(400),
  source: text(200),
  type: text(120),
  time: text(40),
  subject: optional(text(200)),
  datacontenttype: literal('application/json'),
  dataschema: optional(text(300)),
  dataref: optional(text(1200)),
  correlationid: text(200),
  causationid: text(400),
  traceparent: text(80),
  tenant: text(100),
  workflow: text(40),
  runid: text(40),
  step: text(64),
  execution: whole(0),
  entry: whole(0),
  deadline: instant,
  partitionkey: optional(text(64)),
  trylimit: whole(1),
}).map(([name, check]: [string, Check]) => ({ name, check }));

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

/** Reads a message body as JSON; anything else, and what is known noise, gives the reason. */
export function readJson(body: string): { readonly value: unknown } | Unreadable {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return new Unreadable('the body is not JSON');
  }
  if (isDeeper(body, MESSAGE_LEVELS)) return new Unreadable(tooDeep(MESSAGE_LEVELS));
  return isTestNotification(value) ? new Unreadable('a test notification of S3', true) : { value };
}

/** @param path of the attribute that is wrong; undefined: the whole */
export const malformed = (path: string | undefined): Unreadable =>
  new Unreadable(`${path ? `attribute "${path.slice(0, 60)}"` : 'the envelope'} is missing or malformed`);

/** Reads a command from a message body; anything else gives the reason. */
export function parseCommand(body: string): Command | Unreadable {
  const read = readJson(body);
  if (isUnreadable(read)) return read;
  const { value } = read;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return malformed(undefined);
  for (const { name, check } of COMMAND)
    if (!check((value as Record<string, unknown>)[name])) return malformed(name);
  const command = value as Command;
  if (command.id !== `${command.runid}/${command.step}/0`)
    return new Unreadable('the id is not that of the run and step');
  // Source and id together are a message's identity: the id alone makes no copy of a task.
  if (command.source !== sourceOf(command.workflow))
    return new Unreadable('the source is not that of the workflow');
  if ((command.data === undefined) === (command.dataref === undefined))
    return new Unreadable('exactly one of "data" and "dataref" must be there');
  if ('data_base64' in command)
    return new Unreadable('data as "data_base64" is not taken: send JSON as "data"');
  return command;
}
