import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { payloadOf } from '#core/payload.ts';
import { isUnreadable, parseCommand } from '#core/read-command.ts';
import type { Connection } from '../connection.ts';
import { messageStory, nextSteps, type TaskStory, taskLines, taskStory } from '../dead-story.ts';
import { CliError } from '../errors.ts';
import { leaf, open, type Session, type SharedFlags, screenFor } from '../leaf.ts';
import { isCommand, subjectOf } from '../letter.ts';
import { walk } from '../letter-walk.ts';
import type { DeadLetter, Source } from '../ports.ts';
import { findTask } from '../resolve.ts';

interface ShowFlags extends SharedFlags {
  readonly payload?: boolean;
}

/** How long letters are hidden while one of them is looked for. */
const HIDDEN_SECONDS = 60;

export function addShowDead(dlq: Command, session: Session): void {
  leaf(dlq, {
    usage: 'show',
    summary: 'one dead task or message: what is on record, every try, and what to do next',
    examples: [
      ['npx edow dlq show 01JDQ8Z6W3M2T9V5K7X0ABCDEF/ShipOrder/0', 'a task, as dlq ls names it'],
      [
        'npx edow dlq show 6b1f0c2e-7a3d-4c55-9a01-0d2f6e1b8c90',
        "a message that belongs to no task, by SQS's id",
      ],
      [
        'npx edow dlq show 01JDQ8Z6W3M2T9V5K7X0ABCDEF/ShipOrder/0 --payload',
        'with its command, read from the letter',
      ],
    ],
    notes: [
      'Shows no payload unless you ask: --payload may show personal data, and hides letters for a minute at most.',
    ],
  })
    .argument('<task|message>', 'id of the task (run/step/index) or of the message')
    .option('--payload', 'what the letter holds')
    .action(async (id: string, flags: ShowFlags) => {
      const screen = screenFor(session, flags);
      const connection = await open(session, flags);
      const isTask = id.includes('/');
      const story = isTask ? await ofTask(connection, id) : await ofMessage(connection, id);
      const payload = flags.payload === true ? await payloadIn(connection, id, isTask) : undefined;
      if (screen.json)
        return screen.emit({ ...story.facts, next: story.next, ...(payload !== undefined && { payload }) });
      for (const line of story.lines(screen.paint)) screen.print(line);
      screen.print();
      for (const line of story.next) screen.print(`  ${line}`);
      if (payload === undefined) return;
      screen.print();
      screen.print(typeof payload === 'string' ? payload : JSON.stringify(payload, null, 2));
    });
}

interface Story {
  readonly facts: object;
  readonly next: readonly string[];
  readonly lines: (paint: Parameters<typeof taskLines>[1]) => readonly string[];
}

async function ofTask(connection: Connection, id: string): Promise<Story> {
  const { run, step } = await findTask(connection, id);
  const { sources } = await connection.pipeline();
  const pool = sources.find(({ types }) => types.includes(step.type))?.name;
  const facts: TaskStory = taskStory(run, step, pool);
  return { facts, next: nextSteps(facts), lines: (paint) => taskLines(facts, paint) };
}

async function ofMessage(connection: Connection, id: string): Promise<Story> {
  const row = await (await connection.views()).deadMessage(id);
  if (row === undefined)
    throw new CliError(
      'unknown_message',
      `no message ${id} is in the index of dead letters: it belongs to a task, is gone, or was not looked at yet`,
      'See what lies in the queues: npx edow dlq peek',
    );
  return messageStory(row);
}

/** What the letter holds; the letter stays where it is. */
async function payloadIn(connection: Connection, id: string, isTask: boolean): Promise<unknown> {
  const letter = await letterOf(connection, ({ messageId, body }) => {
    if (!isTask) return messageId === id;
    const subject = subjectOf(body);
    return subject?.task === id && isCommand(subject);
  });
  if (letter === undefined)
    throw new CliError(
      'no_letter',
      `no dead letter of ${id} was found: it was sent back or thrown away, or others hold it just now`,
      'Try again in a minute, or look: npx edow dlq peek',
    );
  const command = parseCommand(letter.body);
  if (isUnreadable(command) || !isTask) return letter.body;
  if (command.dataref === undefined) return command.data;
  return payloadOf(await connection.payloads(), command.tenant, undefined, command.dataref);
}

async function letterOf(
  connection: Connection,
  isIt: (letter: DeadLetter) => boolean,
): Promise<DeadLetter | undefined> {
  let found: DeadLetter | undefined;
  const { sources } = await connection.pipeline();
  for (const source of sources) {
    await walk(
      {
        letters: connection.letters,
        now: Date.now,
        sleep,
        hiddenSeconds: HIDDEN_SECONDS,
        handle: async (_source: Source, letter: DeadLetter) => {
          if (isIt(letter)) found ??= letter;
          return false;
        },
        isOver: () => found !== undefined,
      },
      source,
    );
    if (found !== undefined) return found;
  }
  return undefined;
}
