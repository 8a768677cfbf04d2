/** What the scenes of the demo share: orders to send, ways to wait, and the downstreams' books. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunView } from '#core/run-view.ts';
import type { CallCount, StubBooks } from './aws/stub-books.ts';
import { news } from './commands/watch.ts';
import type { Connection } from './connection.ts';
import { CliError } from './errors.ts';
import type { Api } from './ports.ts';
import { type Screen, widthOf } from './screen.ts';
import { wrapped } from './text.ts';

export interface DemoStage {
  readonly screen: Screen;
  readonly connection: Connection;
  readonly api: Api;
  readonly books: StubBooks;
  /** Part of every order's id: a second demo has orders of its own. */
  readonly stamp: string;
}

/** Steps of the order, with what each asks of which downstream. */
export const OPERATIONS: Readonly<Record<string, string>> = {
  ReserveStock: 'inventory/reservations',
  ChargePayment: 'payment/charges',
  ShipOrder: 'shipping/parcels',
  NotifyCustomer: 'notification/messages',
};

export const orderId = ({ stamp }: DemoStage, name: string): string => `demo-${stamp}-${name}`;

/** An order with two lines, by a key of its own. */
export function start(stage: DemoStage, name: string) {
  const id = orderId(stage, name);
  const order = {
    orderId: id,
    customer: { id: 'customer-7' },
    lines: [
      { sku: 'tea-green', quantity: 2, unitPriceCents: 450 },
      { sku: 'cup-white', quantity: 1, unitPriceCents: 1200 },
    ],
  };
  return stage.api.start('order', id, JSON.stringify(order));
}

const WIDTH = 100;

export function title({ screen }: DemoStage, number: number, text: string, more: string): void {
  screen.say();
  screen.say(screen.paint('bold', `${number}. ${text}`));
  for (const line of wrapped(more, Math.min(WIDTH, screen.width), '   '))
    screen.say(screen.paint('dim', line));
}

/** Long lines are broken between words, below their own beginning. */
export function line({ screen }: DemoStage, text: string): void {
  const indent = `   ${/^ */.exec(text)?.[0] ?? ''}`;
  if (widthOf(text) + 3 <= screen.width) screen.say(`   ${text}`.trimEnd());
  else for (const part of wrapped(text.trimStart(), screen.width, indent)) screen.say(part);
}
export const good = (stage: DemoStage, text: string): void =>
  line(stage, `${stage.screen.paint('green', '✓')} ${text}`);

const POLL_MS = 200;
const PATIENCE_MS = 180_000; // on a busy machine; otherwise each wait is over within seconds

/** Asks until the answer is there. @throws CliError `demo_stuck` */
export async function until<T>(what: string, run: string, ask: () => Promise<T | undefined>): Promise<T> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (Date.now() > deadline)
      throw new CliError(
        'demo_stuck',
        `${what} did not happen within ${PATIENCE_MS / 1000} s`,
        `See why: npx edow show ${run}, npx edow logs --run ${run}`,
      );
    await sleep(POLL_MS);
  }
}

/** Follows a run until it has that status; tells what happens, if wanted. */
export function runUntil(
  stage: DemoStage,
  id: string,
  status: string,
  tell: 'aloud' | 'silently',
): Promise<RunView> {
  const told = new Set<string>();
  return until(`run ${id} ${status}`, id, async () => {
    const run = await stage.api.run(id);
    if (tell === 'aloud')
      for (const text of news(run).filter((text) => !text.endsWith('entered'))) {
        if (!told.has(text)) line(stage, stage.screen.paint('dim', text));
        told.add(text);
      }
    return run.status === status ? run : undefined;
  });
}

export type Counts = Readonly<Record<string, CallCount>>;

/** What the downstreams' books say of a run, by step. */
export async function countsOf({ books }: DemoStage, run: string): Promise<Counts> {
  const counted = Object.entries(OPERATIONS).map(
    async ([step, operation]) => [step, await books.count(operation, `${run}/${step}/0`)] as const,
  );
  return Object.fromEntries(await Promise.all(counted));
}

export const sum = (counts: Counts, of: keyof CallCount): number =>
  Object.values(counts).reduce((total, count) => total + count[of], 0);
