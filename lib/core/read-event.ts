/** Reads an event from bytes that anybody may have sent to a subscriber's queue. */
import * as z from 'zod/mini';
import { TASK_FAILED } from './deaths.ts';
import type { Envelope } from './envelope.ts';
import { isUnreadable, malformed, readJson, Unreadable } from './read-command.ts';
import { RUN_EVENTS } from './run-changes.ts';

/** Text that is there, of so many characters at most. */
const text = (max: number) => z.string().check(z.minLength(1), z.maxLength(max));
const whole = z.number().check(z.int(), z.nonnegative());

const eventSchema = z.looseObject({
  specversion: z.literal('1.0'),
  id: text(500),
  source: text(200),
  type: text(120),
  time: z.iso.datetime(),
  subject: z.optional(text(200)),
  causationid: text(400),
  tenant: text(100),
  data: z.optional(z.unknown()),
});

const runData = z.looseObject({
  runId: text(40),
  workflow: text(40),
  status: text(40),
  execution: whole,
  startedAt: whole,
  updatedAt: whole,
});
const failureData = z.looseObject({
  type: text(120),
  reason: text(40),
  error: text(200),
  // Told since the index of dead letters is kept; older events lack them.
  class: z.optional(text(40)),
  message: z.optional(z.string().check(z.maxLength(1000))),
  fingerprint: z.optional(text(80)),
  version: z.optional(whole),
  tries: z.optional(whole),
  started: z.optional(whole),
  workers: z.optional(z.array(text(200)).check(z.maxLength(20))),
  firstAt: z.optional(whole),
  deaths: z.optional(whole),
  replays: z.optional(whole),
});

/** What readers take from the data, by event type. Other events' data are nobody's business here. */
const dataOf = new Map<string, z.core.$ZodType>([
  ...Object.values(RUN_EVENTS).map((type) => [type, runData] as const),
  [TASK_FAILED, failureData],
]);

/** The number at the end of an event's id orders the events of one run or task. */
const NUMBERED = /:\d{1,15}$/;

export function parseEvent(body: string): Envelope | Unreadable {
  const read = readJson(body);
  if (isUnreadable(read)) return read;
  const parsed = z.safeParse(eventSchema, read.value);
  if (!parsed.success) return malformed(parsed.error.issues[0]?.path.map(String).join('.'));
  const event = parsed.data;
  if (!NUMBERED.test(event.id)) return new Unreadable('the id does not end in a number');
  const schema = dataOf.get(event.type);
  if (schema !== undefined && !z.safeParse(schema, event.data).success)
    return new Unreadable('the data do not fit the type of the event');
  return event as unknown as Envelope;
}
