import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { letterExpiry } from '#core/dead-rows.ts';
import { discardedByPersonOf } from '#core/operator-marks.ts';
import { type Actor, audited } from '../audit.ts';
import { confirm } from '../confirm.ts';
import type { Connection } from '../connection.ts';
import { boxesOf } from '../dead-sources.ts';
import {
  type Discarded,
  type DiscardPlan,
  type DiscardPorts,
  type DiscardReport,
  discard,
} from '../discard.ts';
import { leaf, open, reason, type Session, screenFor, whole } from '../leaf.ts';
import { addLetterFlags, filterOf, type LetterFlags, namedLetters } from '../letter-flags.ts';
import type { Screen } from '../screen.ts';
import { plural } from '../text.ts';

interface DiscardFlags extends LetterFlags {
  readonly reason: string;
  readonly limit?: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export function addDiscard(dlq: Command, session: Session): void {
  const command = leaf(dlq, {
    usage: 'discard',
    summary: 'throw dead letters away; what was done stays on record',
    examples: [
      ['npx edow dlq discard --task RUN/STEP/0 --reason "ordered twice by mistake"', 'of one task'],
      ['npx edow dlq discard --because unreadable --reason "test messages" --dry-run', 'show which'],
      ['npx edow dlq discard --message 6b1f0c2e --reason "not ours" --yes', 'by its id, without being asked'],
    ],
    notes: [
      'The task is not changed: a dead task of a held run stays dead, only that no letter is left for a replay. Say what',
      'shall become of it by edow task resolve --done, --retry or --fail. A letter that is gone cannot be had back.',
    ],
  });
  addLetterFlags(command, '--because')
    .requiredOption('--reason <text>', 'why they are thrown away, kept on record', reason)
    .option('--limit <number>', 'at most so many', whole(1, 1_000_000))
    .option('--dry-run', 'throw nothing away')
    .option('--yes', 'without being asked')
    .action((flags: DiscardFlags) => act(session, flags));
}

async function act(session: Session, flags: DiscardFlags): Promise<void> {
  const screen = screenFor(session, flags);
  const connection = await open(session, flags);
  const { limit } = flags;
  session.ifInterrupted = 'stopped. What was thrown away is gone, the other letters are where they were.';
  const plan: DiscardPlan = {
    boxes: await boxesOf(connection, flags.pool),
    filter: filterOf(flags, flags.because, Date.now()),
    dryRun: false,
    ...(limit !== undefined && { limit }),
  };
  const ports = { letters: connection.letters, lookUp: connection.lookUp, now: Date.now, sleep };
  const look = await discard(
    { ...ports, note: async () => {}, close: async () => {} },
    { ...plan, dryRun: true },
    (one) => screen.say(lineOf(one, true)),
  );
  const count = look.discarded.length;
  if (flags.dryRun === true || count === 0) return show(screen, flags.dryRun === true, look);
  await confirm(session, screen, flags.yes === true, `Throw ${plural(count, 'dead letter')} away for good?`);
  const report = await audited(connection, 'dlq discard', named(flags), async (notes, actor) => {
    // What was shown and nothing else: queues hand out in no order, and letters may have come meanwhile.
    const bounded = {
      ...plan,
      limit: count,
      only: new Set(look.discarded.map(({ messageId }) => messageId)),
    };
    const note = await notesOf(connection, actor, flags.reason);
    const views = await connection.views();
    const close: DiscardPorts['close'] = ({ messageId, sentAt }) =>
      views.closeDeadMessage(messageId, letterExpiry(sentAt));
    const result = await discard({ ...ports, note, close }, bounded, () => {
      notes.counts['discarded'] = (notes.counts['discarded'] ?? 0) + 1;
    });
    Object.assign(notes.counts, { discarded: result.discarded.length, left: result.left });
    return result;
  });
  show(screen, false, report);
}

async function notesOf(
  connection: Connection,
  { who, at }: Actor,
  why: string,
): Promise<DiscardPorts['note']> {
  const store = await connection.store();
  return async (task, messageId) => {
    await store.update(discardedByPersonOf(task, { who, at, why, messageId }));
  };
}

const named = (flags: DiscardFlags) => ({
  reason: flags.reason,
  because: flags.because,
  ...namedLetters(flags),
  limit: flags.limit,
});

const lineOf = ({ source, task, type, messageId, reason: why }: Discarded, dryRun: boolean): string =>
  `  ${dryRun ? 'found' : 'gone'} ${source}  ${task ?? type ?? messageId}  ${why}`;

const MAX_NAMED = 5;

function show(screen: Screen, dryRun: boolean, report: DiscardReport): void {
  if (screen.json) {
    screen.emit({ dryRun, ...report });
    return;
  }
  const { discarded, left, complete } = report;
  const done = dryRun ? 'would be thrown away' : 'thrown away';
  screen.print(`${plural(discarded.length, 'dead letter')} ${done}, ${left} left.`);
  const dead = discarded.filter(({ isDead }) => isDead);
  if (dead.length > 0) {
    const tasks = [...new Set(dead.map(({ task }) => task))];
    const more = tasks.length > MAX_NAMED ? ` and ${tasks.length - MAX_NAMED} more` : '';
    const stay = `${dryRun ? 'Dead tasks that would be' : 'Dead tasks that are'} without a letter`;
    screen.print(`${stay}: ${tasks.slice(0, MAX_NAMED).join(', ')}${more}`);
    screen.print(
      'No replay heals their held runs. Decide each: npx edow task resolve RUN/STEP/0 --done RESULT | --retry | --fail',
    );
  }
  if (!complete) screen.print('There may be more: run this again.');
}
