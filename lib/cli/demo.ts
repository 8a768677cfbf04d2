/** The demo: every scene in order, what they found, and how to go on from there. */
import { logFile } from '#local/emulator-process.ts';
import { stubBooks } from './aws/stub-books.ts';
import type { Connection } from './connection.ts';
import { costs, type Measured } from './demo-measure.ts';
import { heals, onceOnly, poison, retries, shows, succeeds } from './demo-scenes.ts';
import { countsOf, type DemoStage, good, sum } from './demo-stage.ts';
import { CliError } from './errors.ts';
import type { Screen } from './screen.ts';
import { apiRoot } from './target.ts';

/** What the demo has found, for programs. */
export interface DemoReport {
  readonly runs: readonly string[];
  readonly healed: string;
  /** At the downstreams, by their own books. */
  readonly calls: number;
  readonly effects: number;
  readonly measured: Measured;
}

export async function runScenes(screen: Screen, connection: Connection): Promise<DemoReport> {
  const { stubTable } = await connection.pipeline();
  if (stubTable === undefined)
    throw new CliError('no_stub', 'this stage has no stub downstreams', 'Use the local cloud: npx edow demo');
  const stage: DemoStage = {
    screen,
    connection,
    api: await connection.api(),
    books: stubBooks(stubTable),
    stamp: Date.now().toString(36),
  };
  const first = [await succeeds(stage), await onceOnly(stage), await retries(stage)];
  const poisoned = await poison(stage);
  await heals(stage, poisoned);
  await shows(stage, poisoned);
  const measured = await costs(stage);
  const runs = [...first, poisoned.id, ...poisoned.others, measured.id];
  const counts = await Promise.all(runs.map((run) => countsOf(stage, run)));
  const total = (of: 'calls' | 'effects'): number => counts.reduce((all, each) => all + sum(each, of), 0);
  const [calls, effects] = [total('calls'), total('effects')];
  screen.say();
  good(
    stage,
    `all ${runs.length} orders: ${calls} calls at the downstreams, ${effects} effects (${runs.length} x 4)`,
  );
  return { runs, healed: poisoned.id, calls, effects, measured };
}

const INPUT =
  '{"orderId":"o-1","customer":{"id":"c-1"},"lines":[{"sku":"tea","quantity":1,"unitPriceCents":450}]}';

/** Where things are and how to go on by hand. */
export async function farewell(
  screen: Screen,
  connection: Connection,
  healed: string,
  stateDir: string,
): Promise<void> {
  const root = apiRoot(connection.target, (await connection.pipeline()).api);
  screen.say();
  screen.say(screen.paint('bold', 'Where things are'));
  screen.say(`   API   ${root}`);
  screen.say('         POST /workflows/order/runs, GET /runs/{id}, GET /runs; signed by SigV4');
  screen.say(`   logs  npx edow logs --run ${healed}`);
  screen.say(`         ${logFile(stateDir)} (the emulator's own)`);
  screen.say();
  screen.say(screen.paint('bold', 'Go on by hand'));
  for (const call of [
    'npx edow status',
    'npx edow runs',
    `npx edow show ${healed}`,
    `npx edow start order --key my-first --input '${INPUT}'`,
    'npx edow --help',
  ])
    screen.say(`   ${call}`);
  screen.say();
  screen.say('The local cloud goes on running. Stop it: npx edow down');
}
