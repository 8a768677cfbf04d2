import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { audited } from '../audit.ts';
import type { Connection } from '../connection.ts';
import { EXIT } from '../errors.ts';
import { leaf, open, type Session, type SharedFlags, screenFor, whole } from '../leaf.ts';
import { drain, type Pool, type PoolPorts, poolOf, settled } from '../pools.ts';

/** AWS switches a mapping within half a minute; a drain waits for the workers too. Seconds. */
const SWITCH_TIMEOUT = 90;
const DRAIN_TIMEOUT = 300;

export function addPool(program: Command, session: Session): void {
  const pool = program
    .command('pool')
    .description('a worker pool: pause, resume, drain it')
    .helpCommand(false);

  const add = (
    usage: 'pause' | 'resume' | 'drain',
    summary: string,
    what: string,
    notes: readonly string[],
    act: (scene: Scene) => Promise<Acted>,
  ): void => {
    leaf(pool, { usage, summary, examples: [[`npx edow pool ${usage} shipping`, what]], notes })
      .argument('<pool>', 'name of the pool')
      .option(
        '--timeout <seconds>',
        'how long to wait',
        whole(1, 86_400),
        usage === 'drain' ? DRAIN_TIMEOUT : SWITCH_TIMEOUT,
      )
      .action(async (name: string, flags: PoolFlags) => {
        const screen = screenFor(session, flags);
        const connection = await open(session, flags);
        const chosen = await poolOf(connection, name);
        const acted = await audited(connection, `pool ${usage}`, { pool: name }, async (notes) => {
          const timeoutMs = flags.timeout * 1000;
          const result = await act({
            connection,
            pool: chosen,
            timeoutMs,
            tell: (line) => screen.passing(line),
          });
          notes.counts = { inFlight: result.inFlight, waiting: result.waiting };
          if (!result.finished) Object.assign(notes, { outcome: 'stopped', why: 'the time was up' });
          return result;
        });
        if (!acted.finished) session.exitCode = EXIT.timeout;
        if (screen.json) return screen.emit({ pool: name, ...acted });
        screen.print(lineOf(usage, name, acted));
      });
  };

  add(
    'pause',
    'hand out no more tasks of a pool; its queue keeps them',
    'until it is resumed',
    [
      'Tasks in the hands of workers go on. Messages are kept for 4 days, deadlines go on: a task whose deadline passes',
      'dies as "expired" when the pool is resumed, and a replay gives it a fresh one. A deploy leaves a pool as it is.',
    ],
    (scene) => switched(scene, false),
  );
  add(
    'resume',
    'hand out tasks again',
    'after a pause or a drain',
    ['What has waited is handed out at the pace of the pool (its maxConcurrency).'],
    (scene) => switched(scene, true),
  );
  add(
    'drain',
    'pause a pool and wait until nothing is in the hands of its workers',
    'before its downstream is taken down',
    [
      'Messages that wait for their next try count as in flight too, as SQS hides them: a long back-off may outlast the',
      'time limit (exit code 4). The pool stays paused either way.',
    ],
    ({ connection, pool: chosen, timeoutMs, tell }) => drain(portsOf(connection), chosen, timeoutMs, tell),
  );
}

interface PoolFlags extends SharedFlags {
  /** Seconds. */
  readonly timeout: number;
}

interface Scene {
  readonly connection: Connection;
  readonly pool: Pool;
  readonly timeoutMs: number;
  readonly tell: (line: string) => void;
}

interface Acted {
  /** False: the time was up first. */
  readonly finished: boolean;
  /** Lambda's word for the mapping: Enabled, Disabled, Disabling ... */
  readonly state: string;
  readonly waiting: number;
  readonly inFlight: number;
}

const portsOf = ({ feeds, depths }: Connection): PoolPorts => ({ feeds, depths, now: Date.now, sleep });

async function switched({ connection, pool, timeoutMs }: Scene, on: boolean): Promise<Acted> {
  await connection.feeds.turn(pool.functionName, pool.queueArn, on);
  const state = await settled(portsOf(connection), pool, on, timeoutMs);
  const depth = await connection.depths(pool.queueUrl);
  return { finished: state === (on ? 'Enabled' : 'Disabled'), state, ...depth };
}

function lineOf(usage: 'pause' | 'resume' | 'drain', name: string, acted: Acted): string {
  const { finished, state, waiting, inFlight } = acted;
  const depths = `${waiting} waiting, ${inFlight} in flight`;
  if (usage === 'resume')
    return finished
      ? `Pool ${name} hands out tasks again (${depths}).`
      : `Pool ${name} is still ${state} (${depths}); look again: npx edow status`;
  const again = `Resume it: npx edow pool resume ${name}`;
  if (usage === 'drain')
    return finished
      ? `Pool ${name} is drained: nothing is in flight, ${waiting} waiting. ${again}`
      : `Pool ${name} is ${state}, but not drained: ${depths}, waits for a next try included. ${again}`;
  return finished
    ? `Pool ${name} is paused (${depths}). ${again}`
    : `Pool ${name} is still ${state} (${depths}); look again: npx edow status`;
}
