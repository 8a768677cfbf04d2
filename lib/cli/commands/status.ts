import type { Command } from 'commander';
import { cloudStatus } from '#local/emulator.ts';
import type { Connection } from '../connection.ts';
import { leaf, open, type Session, type SharedFlags, screenFor } from '../leaf.ts';
import { poolsOf } from '../pools.ts';
import type { Depth, StackState } from '../ports.ts';
import type { Paint, Screen } from '../screen.ts';
import { table, timeOf } from '../text.ts';

interface QueueState {
  readonly name: string;
  readonly queue: Depth;
  readonly dead: number;
  /** Lambda's word for what feeds a pool's workers; undefined: no pool. `Disabled`: paused. */
  readonly feed?: string;
}

export interface Overview {
  readonly target: string;
  readonly stacks: readonly StackState[];
  readonly workflows: readonly string[];
  readonly queues: readonly QueueState[];
  /** Counted up to 100; more reads `100+`. */
  readonly runs: { readonly running: string; readonly held: string };
}

export function addStatus(program: Command, session: Session): void {
  leaf(program, {
    usage: 'status',
    summary: 'the cloud, its stacks, queues, dead letters, open and held runs',
    examples: [
      ['npx edow status', 'of the local cloud, or of stage dev on AWS'],
      ['npx edow status --stage prod --json', 'for a program'],
    ],
  }).action(async (flags: SharedFlags) => {
    const screen = screenFor(session, flags);
    const connection = await open(session, flags);
    const overview = await overviewOf(connection);
    const seen = connection.target.kind === 'local' ? await cloudStatus(flags.stateDir) : undefined;
    const emulator = seen && 'cloud' in seen ? { state: seen.state, ...seen.cloud } : undefined;
    if (screen.json) return screen.emit({ ...overview, ...(emulator && { emulator }) });
    screen.print(
      emulator
        ? `${overview.target}, process ${emulator.pid}, since ${timeOf(emulator.startedAt)} UTC`
        : overview.target,
    );
    show(screen, overview);
  });
}

/** The API counts nothing: a page of the list is as far as this looks. */
const COUNTED = 100;

async function overviewOf(connection: Connection): Promise<Overview> {
  const stacks = await connection.stacks.states();
  const pipeline = await connection.pipeline();
  const { sources, machines } = pipeline;
  const pools = new Map(poolsOf(pipeline).map((pool) => [pool.name, pool]));
  const api = await connection.api();
  const count = async (status: string): Promise<string> => {
    const { runs, next } = await api.runs({ status, limit: COUNTED });
    return next === undefined ? String(runs.length) : `${COUNTED}+`;
  };
  const queues = sources.map(async ({ name, queueUrl, dlqUrl }): Promise<QueueState> => {
    const pool = pools.get(name);
    const [queue, dead, feed] = await Promise.all([
      connection.depths(queueUrl),
      connection.depths(dlqUrl),
      // One permission more than the rest needs: without it the rest is still worth showing.
      pool && connection.feeds.state(pool.functionName, pool.queueArn).catch(() => 'unknown'),
    ]);
    return { name, queue, dead: dead.waiting + dead.inFlight, ...(feed !== undefined && { feed }) };
  });
  const [running, held] = await Promise.all([count('running'), count('held')]);
  return {
    target: connection.where,
    stacks,
    workflows: Object.keys(machines),
    queues: await Promise.all(queues),
    runs: { running, held },
  };
}

/** Only what is unusual is shown. */
function feedText(feed: string | undefined, paint: Paint): string {
  if (feed === undefined || feed === 'Enabled') return '';
  return paint('yellow', feed === 'Disabled' ? 'paused' : feed.toLowerCase());
}

function show(screen: Screen, { stacks, workflows, queues, runs }: Overview): void {
  const { paint, width } = screen;
  screen.print();
  for (const line of table(
    ['STACK', 'STATE'],
    stacks.map(({ name, status }) => [name, status ?? paint('dim', 'not deployed')]),
    width,
  ))
    screen.print(line);
  screen.print();
  for (const line of table(
    ['QUEUE', 'WAITING', 'IN FLIGHT', 'DEAD', 'FED'],
    queues.map(({ name, queue, dead, feed }) => [
      name,
      String(queue.waiting),
      String(queue.inFlight),
      dead > 0 ? paint('red', String(dead)) : '0',
      feedText(feed, paint),
    ]),
    width,
  ))
    screen.print(line);
  screen.print();
  screen.print(`workflows: ${workflows.join(', ')}`);
  const held = runs.held === '0' ? '0 held' : paint('yellow', `${runs.held} held`);
  screen.print(
    `runs: ${runs.running} running, ${held} (queue depths are approximate, the list of runs lags by seconds)`,
  );
  for (const { name } of queues.filter(({ feed }) => feed === 'Disabled'))
    screen.print(`${name} is paused: npx edow pool resume ${name}`);
  if (queues.some(({ dead }) => dead > 0)) screen.print('Dead letters with their reasons: npx edow dlq ls');
  if (runs.held !== '0') screen.print('Held runs: npx edow runs --status held');
}
