/** Reads a command from bytes that anybody may have sent. Apart from envelope.ts, so that only readers carry the checks. */
import { type Command, sourceOf } from './envelope.ts';
import { isDeeper, MESSAGE_LEVELS, tooDeep } from './nesting.ts';

/** Text that is there, of so many characters at most. */
const isText = (value: unknown, max: number): boolean =>
  typeof value === 'string' && value.length > 0 && value.length <= max;
const isTextOrAbsent = (value: unknown, max: number): boolean => value === undefined || isText(value, max);
const isWhole = (value: unknown, least: number): boolean =>
  Number.isSafeInteger(value) && (value as number) >= least;

const INSTANT =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?Z$/;
const SHORTEST_MONTH = 28;
/** ISO 8601 in UTC with seconds. A day that its month does not have would be read as one of the next. */
function isInstant(value: unknown): boolean {
  if (typeof value !== 'string' || !INSTANT.test(value)) return false;
  const day = Number(value.slice(8, 10));
  return day <= SHORTEST_MONTH || new Date(value).getUTCDate() === day;
}

/**
 * The attribute that is wrong, the first in the order in which problems are told. By hand and not by a schema: every
 * delivery passes here, and a schema costs several times as much, and a table of checks more than plain tests.
 */
function faultIn(command: Readonly<Partial<Record<keyof Command, unknown>>>): string | undefined {
  if (command.specversion !== '1.0') return 'specversion';
  if (!isText(command.id, 400)) return 'id';
  if (!isText(command.source, 200)) return 'source';
  if (!isText(command.type, 120)) return 'type';
  if (!isText(command.time, 40)) return 'time';
  if (!isTextOrAbsent(command.subject, 200)) return 'subject';
  if (command.datacontenttype !== 'application/json') return 'datacontenttype';
  if (!isTextOrAbsent(command.dataschema, 300)) return 'dataschema';
  if (!isTextOrAbsent(command.dataref, 1200)) return 'dataref';
  if (!isText(command.correlationid, 200)) return 'correlationid';
  if (!isText(command.causationid, 400)) return 'causationid';
  if (!isText(command.traceparent, 80)) return 'traceparent';
  if (!isText(command.tenant, 100)) return 'tenant';
  if (!isText(command.workflow, 40)) return 'workflow';
  if (!isText(command.runid, 40)) return 'runid';
  if (!isText(command.step, 64)) return 'step';
  if (!isWhole(command.execution, 0)) return 'execution';
  if (!isWhole(command.entry, 0)) return 'entry';
  if (!isInstant(command.deadline)) return 'deadline';
  if (!isTextOrAbsent(command.partitionkey, 64)) return 'partitionkey';
  if (!isWhole(command.trylimit, 1)) return 'trylimit';
  return undefined;
}

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
  const fault = faultIn(value);
  if (fault !== undefined) return malformed(fault);
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
