import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { editedByPersonOf } from '#core/operator-marks.ts';
import { type Actor, audited } from '../audit.ts';
import { confirm } from '../confirm.ts';
import type { Connection } from '../connection.ts';
import { sourcesOf } from '../dead-sources.ts';
import { editLetter, type Patch } from '../edit.ts';
import { CliError, EXIT } from '../errors.ts';
import { jsonArgument } from '../json-argument.ts';
import { parseSet } from '../json-patch.ts';
import { leaf, open, rate, ratio, type Session, screenFor, span, whole } from '../leaf.ts';
import { addLetterFlags, filterOf, type LetterFlags, namedLetters } from '../letter-flags.ts';
import { type Replayed, type ReplayPlan, type ReplayPorts, replay } from '../replay.ts';
import { linesOf, showReplay, tellOn } from '../replay-screen.ts';
import type { Screen } from '../screen.ts';
import { plural } from '../text.ts';

interface ReplayFlags extends LetterFlags {
  readonly reason?: string;
  readonly limit?: number;
  readonly rate: number;
  readonly burst: number;
  readonly dryRun?: boolean;
  readonly canary?: number;
  readonly maxFailureRatio?: number;
  readonly wait: number;
  readonly edit?: string;
  readonly set?: readonly string[];
  readonly yes?: boolean;
}

const DEFAULT_RATE = 10;
const DEFAULT_WAIT_MS = 120_000;
const EDIT_RIGHT = 'Right: npx edow dlq replay --task RUN/STEP/0 --edit @data.json';

export function addReplay(dlq: Command, session: Session): void {
  const command = leaf(dlq, {
    usage: 'replay',
    summary: 'send dead letters back to their queue, at a steady pace',
    examples: [
      ['npx edow dlq replay', 'all of them'],
      ['npx edow dlq replay --dry-run', 'show what would be sent'],
      [
        'npx edow dlq replay --fingerprint 1f2e3d4c5b6a --canary 3',
        'three of one cause first; the rest if all are done',
      ],
      ['npx edow dlq replay --pool shipping --max-failure-ratio 0.1', 'stop when more than 10 % die again'],
      ['npx edow dlq replay --type shipping.parcel.ship --set /lines/0/quantity=2', 'with other data'],
      ['npx edow dlq replay --run 01JDQ8Z6W3M2T9V5K7X0ABCDEF', 'those of one run'],
    ],
    notes: [
      'Each letter goes back unchanged but for its replay number, and is deleted only then: cut short, it can be run',
      'again. A replayed task that succeeds lets its held run go on by itself. With --edit or --set the data changes,',
      'task id and idempotency key do not; a resume of the run builds the data from its input again.',
      'Exit code 3: stopped by the canary or the failure ratio.',
    ],
  });
  addLetterFlags(command, '--reason')
    .option('--limit <number>', 'at most so many', whole(1, 1_000_000))
    .option('--rate <number>', 'letters a second', rate, DEFAULT_RATE)
    .option('--burst <number>', 'letters at once', whole(1, 1_000), 1)
    .option('--dry-run', 'send nothing')
    .option('--canary <number>', 'so many first; go on only when all of them are done', whole(1, 1_000))
    .option(
      '--max-failure-ratio <number>',
      'stop when a larger share of the replayed dies again (0 to 1)',
      ratio,
    )
    .option('--wait <span>', 'how long to wait for outcomes (default: 2m)', span, DEFAULT_WAIT_MS)
    .option('--edit <json|@file>', 'other data for one task (needs --task)')
    .option('--set <pointer=value>', 'another value at this place of the data; may be repeated', collected)
    .option('--yes', 'send edited copies without being asked')
    .action((flags: ReplayFlags) => act(session, flags));
}

const collected = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

async function act(session: Session, flags: ReplayFlags): Promise<void> {
  const screen = screenFor(session, flags);
  const patch = await patchOf(flags);
  const connection = await open(session, flags);
  const dryRun = flags.dryRun === true;
  session.ifInterrupted = 'stopped. No letter is lost: what was sent is sent, run it again for the rest.';
  const plan = await planOf(connection, flags, patch);
  const ports = { letters: connection.letters, lookUp: connection.lookUp, now: Date.now, sleep };
  if (dryRun) return showReplay(screen, true, await replay(ports, { ...plan, dryRun }, tellOn(screen, true)));
  const only = patch && (await showEdits(session, screen, flags, ports, plan));
  const report = await audited(connection, 'dlq replay', named(flags, patch), async (notes, actor) => {
    const told = tellOn(screen, false);
    const counting = (replayed: Replayed): void => {
      notes.counts['sent'] = (notes.counts['sent'] ?? 0) + 1;
      if (replayed.changes !== undefined) notes.counts['edited'] = (notes.counts['edited'] ?? 0) + 1;
      told.sent(replayed);
    };
    const noteEdit = await editNotes(connection, actor);
    const chosen = { ...plan, ...(only !== undefined && { only }) };
    const result = await replay({ ...ports, noteEdit }, chosen, { ...told, sent: counting });
    const { left, unreadable, undecided, outcomes, stopped } = result;
    Object.assign(notes.counts, { sent: result.sent.length, left, unreadable, undecided });
    if (outcomes !== undefined)
      Object.assign(notes.counts, { done: outcomes.done, diedAgain: outcomes.dead });
    if (stopped !== undefined) Object.assign(notes, { outcome: 'stopped', why: stopped });
    return result;
  });
  if (report.stopped !== undefined) session.exitCode = EXIT.unhappy;
  showReplay(screen, false, report);
}

/** What the flags say of the data; undefined: it stays. @throws CliError `usage` */
async function patchOf({ edit, set, task }: ReplayFlags): Promise<Patch | undefined> {
  if (edit === undefined) return set === undefined ? undefined : { set: set.map(parseSet) };
  if (set !== undefined || task === undefined)
    throw new CliError(
      'usage',
      set === undefined
        ? '--edit replaces all of the data: name the one task that it is for'
        : '--edit replaces all of the data: leave --set out',
      EDIT_RIGHT,
      { exitCode: EXIT.usage },
    );
  return { whole: await jsonArgument('--edit', edit, EDIT_RIGHT) };
}

async function planOf(
  connection: Connection,
  flags: ReplayFlags,
  patch: Patch | undefined,
): Promise<ReplayPlan> {
  const { limit, canary, maxFailureRatio } = flags;
  const payloads = await connection.payloads();
  return {
    sources: await sourcesOf(connection, flags.pool),
    filter: filterOf(flags, flags.reason, Date.now()),
    rate: flags.rate,
    burst: flags.burst,
    dryRun: false,
    waitMs: flags.wait,
    ...(limit !== undefined && { limit }),
    ...(canary !== undefined && { canary }),
    ...(maxFailureRatio !== undefined && { maxFailureRatio }),
    ...(patch !== undefined && { edit: (found, number) => editLetter(payloads, found, patch, number) }),
  };
}

/**
 * Every edit is shown and checked before the first copy is sent.
 * @returns message ids of the letters that were shown: queues hand out in no order, and others may come meanwhile
 */
async function showEdits(
  session: Session,
  screen: Screen,
  flags: ReplayFlags,
  ports: ReplayPorts,
  plan: ReplayPlan,
): Promise<ReadonlySet<string>> {
  const { sent } = await replay(ports, { ...plan, dryRun: true });
  const shown = new Set(sent.map(({ messageId }) => messageId));
  const edited = sent.filter(({ changes }) => changes !== undefined);
  for (const replayed of edited) for (const line of linesOf(replayed)) screen.say(line);
  if (edited.length === 0) return shown;
  const question = `Send ${plural(edited.length, 'edited copy', 'edited copies')} (of ${sent.length})?`;
  await confirm(session, screen, flags.yes === true, question);
  return shown;
}

/** On the task first: its worker knows other data then. */
async function editNotes(connection: Connection, { who, at }: Actor) {
  const store = await connection.store();
  const noteEdit: NonNullable<ReplayPorts['noteEdit']> = async (task, { digest }, changes) => {
    const places = changes.map(({ pointer }) => pointer);
    return (await store.update(editedByPersonOf(task, { who, at, digest, places }))).written;
  };
  return noteEdit;
}

/** For the audit: of an edit the places, never the values. */
function named(flags: ReplayFlags, patch: Patch | undefined) {
  const { reason, limit, rate: perSecond, burst, wait, canary, maxFailureRatio } = flags;
  const places = patch && 'set' in patch ? patch.set.map(({ pointer }) => pointer).join(' ') : 'all';
  return {
    ...namedLetters(flags),
    ...{ reason, limit, canary, maxFailureRatio },
    rate: perSecond,
    burst,
    wait: `${wait / 1000}s`,
    edit: patch === undefined ? undefined : places,
  };
}
