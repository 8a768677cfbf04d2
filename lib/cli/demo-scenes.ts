/** The scenes of the demo. Every number in them is read from the cloud: runs, queues, the downstreams' own books. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type DeadEntry, listDead } from './dead-list.ts';
import {
  countsOf,
  type DemoStage,
  good,
  line,
  OPERATIONS,
  orderId,
  runUntil,
  start,
  sum,
  title,
  until,
} from './demo-stage.ts';
import { CliError } from './errors.ts';
import { replay } from './replay.ts';
import { duration, plural } from './text.ts';
import { timeline } from './timeline.ts';

/** What a scene promises is checked: a demo that only looks right is none. */
function expect(is: boolean, what: string, found: unknown): void {
  if (is) return;
  throw new CliError(
    'demo_wrong',
    `the demo expected ${what}, but the cloud says ${JSON.stringify(found)}`,
    'This is a bug: npx edow logs shows what the functions did.',
  );
}

export async function succeeds(stage: DemoStage): Promise<string> {
  title(
    stage,
    1,
    'An order that succeeds',
    'A signed POST to the HTTP API starts a run; Step Functions hands each step to a worker through SNS and SQS.',
  );
  const { id } = await start(stage, 'plain');
  line(stage, `202 accepted: run ${id}`);
  const run = await runUntil(stage, id, 'succeeded', 'aloud');
  const counts = await countsOf(stage, id);
  expect(sum(counts, 'effects') === 4 && sum(counts, 'calls') === 4, '4 calls and 4 effects', counts);
  const took = Date.parse(run.closedAt ?? run.updatedAt) - Date.parse(run.startedAt);
  good(stage, `succeeded in ${duration(took)}; the downstreams' books show 4 calls and 4 effects`);
  return id;
}

export async function onceOnly(stage: DemoStage): Promise<string> {
  title(
    stage,
    2,
    'The same request, twice at once',
    'A client that got no answer sends again. One idempotency key is one run.',
  );
  const [first, second] = await Promise.all([start(stage, 'twice'), start(stage, 'twice')]);
  line(stage, `first answer   run ${first.id}`);
  line(stage, `second answer  run ${second.id}`);
  expect(first.id === second.id, 'one run id', [first.id, second.id]);
  await runUntil(stage, first.id, 'succeeded', 'silently');
  const counts = await countsOf(stage, first.id);
  expect(sum(counts, 'effects') === 4, '4 effects', counts);
  good(stage, 'one run; 4 effects, not 8');
  return first.id;
}

export async function retries(stage: DemoStage): Promise<string> {
  title(
    stage,
    3,
    'A worker that fails twice',
    'The payment downstream is out of order for the first two calls. The queue brings the task back after a growing, random wait.',
  );
  await stage.books.plan('payment/charges', orderId(stage, 'retry'), { fails: 2, kind: 'error' });
  const { id } = await start(stage, 'retry');
  line(stage, `run ${id}`);
  const run = await runUntil(stage, id, 'succeeded', 'aloud');
  const counts = await countsOf(stage, id);
  const charge = counts['ChargePayment'];
  const step = run.steps.find(({ step: name }) => name === 'ChargePayment');
  expect(charge?.calls === 3 && charge.effects === 1, '3 calls and 1 effect', charge);
  good(
    stage,
    `succeeded on try ${step?.started}; the card was charged once (${charge?.calls} calls, ${charge?.effects} effect)`,
  );
  return id;
}

const OTHERS = 5;

export interface Poisoned {
  readonly id: string;
  readonly others: readonly string[];
  readonly letter: DeadEntry;
}

export async function poison(stage: DemoStage): Promise<Poisoned> {
  title(
    stage,
    4,
    `A poison order among ${OTHERS} others`,
    'Shipping refuses one order for good. Its task goes to the dead-letter queue with its reason, its run is held; nobody else waits.',
  );
  await stage.books.plan('shipping/parcels', orderId(stage, 'poison'), { fails: -1, kind: 'permanent' });
  const begun = Date.now();
  const [{ id }, ...rest] = await Promise.all([
    start(stage, 'poison'),
    ...Array.from({ length: OTHERS }, (_, index) => start(stage, `other-${index + 1}`)),
  ]);
  const others = rest.map((started) => started.id);
  line(stage, `poison  run ${id}`);
  await Promise.all(others.map((other) => runUntil(stage, other, 'succeeded', 'silently')));
  line(stage, `the ${OTHERS} others succeeded within ${duration(Date.now() - begun)}`);
  await runUntil(stage, id, 'held', 'silently');
  const letter = await deadLetterOf(stage, id);
  line(stage, `run held; dead letter in the queue of pool ${letter.source}:`);
  line(stage, `  task         ${letter.task}`);
  line(stage, `  reason       ${letter.reason}`);
  line(stage, `  error        ${letter.error}: ${letter.message}`);
  line(stage, `  fingerprint  ${letter.fingerprint}   (the same for every order with this cause)`);
  good(stage, 'one run waits, nothing is lost, the others flow');
  return { id, others, letter };
}

/** SQS moves the message after its last receive: seconds after the task gave up. */
async function deadLetterOf({ connection }: DemoStage, run: string): Promise<DeadEntry> {
  const { sources } = await connection.pipeline();
  const shipping = sources.filter(({ name }) => name === 'shipping');
  return until(`the dead letter of run ${run}`, run, async () => {
    const depths = await Promise.all(shipping.map(({ dlqUrl }) => connection.depths(dlqUrl)));
    if (depths.every(({ waiting }) => waiting === 0)) return undefined;
    const { entries } = await listDead(connection.letters, connection.lookUp, shipping);
    return entries.find((entry) => entry.run === run);
  });
}

export async function heals(stage: DemoStage, { id }: Poisoned): Promise<void> {
  title(
    stage,
    5,
    'The fix and the replay',
    'Shipping is repaired, the dead letter is sent back to its queue, and the held run goes on by itself where it stopped.',
  );
  const before = await countsOf(stage, id);
  await stage.books.remove('shipping/parcels', orderId(stage, 'poison'));
  line(stage, 'fixed: shipping takes the order now');
  const { connection } = stage;
  const { sources } = await connection.pipeline();
  const report = await replay(
    { letters: connection.letters, lookUp: connection.lookUp, now: Date.now, sleep },
    { sources, filter: { run: id }, rate: 10, burst: 1, dryRun: false, waitMs: 0 },
  );
  expect(report.sent.length === 1, 'one dead letter of this run', report);
  line(stage, `npx edow dlq replay --run ${id}`);
  line(stage, `  ${plural(report.sent.length, 'dead letter')} sent back`);
  const run = await runUntil(stage, id, 'succeeded', 'silently');
  const after = await countsOf(stage, id);
  expect(run.execution === 2, 'execution 2', run.execution);
  line(
    stage,
    `run succeeded in execution ${run.execution}; calls at the downstreams before and after the replay:`,
  );
  for (const step of Object.keys(OPERATIONS)) {
    const [was, is] = [before[step], after[step]];
    const repeated = was?.effects === 1 && is?.calls === was.calls ? 'not repeated' : '';
    line(
      stage,
      `  ${step.padEnd(15)} ${was?.calls} -> ${is?.calls}   effects ${is?.effects}   ${repeated}`.trimEnd(),
    );
  }
  expect(
    Object.values(after).every(({ effects }) => effects === 1) &&
      after['ReserveStock']?.calls === 1 &&
      after['ChargePayment']?.calls === 1,
    'every effect once, finished steps not repeated',
    after,
  );
  good(stage, 'healed: finished steps answered from memory, each effect happened once');
}

export async function shows(stage: DemoStage, { id }: Poisoned): Promise<void> {
  title(stage, 6, 'The timeline of that run', `npx edow show ${id}`);
  const run = await stage.api.run(id);
  const { screen } = stage;
  for (const text of timeline(run, new Date().toISOString(), screen.paint, screen.width - 3))
    line(stage, text);
}
