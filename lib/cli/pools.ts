/** Worker pools, switched off and on: what feeds their function is disabled or enabled. */
import type { Connection } from './connection.ts';
import { CliError, EXIT } from './errors.ts';
import type { Depth, Feeds, Pipeline, QueueDepths } from './ports.ts';

export interface Pool {
  readonly name: string;
  readonly functionName: string;
  readonly queueArn: string;
  readonly queueUrl: string;
}

/** The pools of a pipeline: queues with a worker; subscribers and retry queues are none. */
export const poolsOf = ({ sources, functions }: Pipeline): readonly Pool[] =>
  sources.flatMap(({ name, queueArn, queueUrl }) => {
    const functionName = functions[`worker-${name}`];
    return functionName === undefined ? [] : [{ name, functionName, queueArn, queueUrl }];
  });

/** @throws CliError `unknown_pool` */
export async function poolOf(connection: Connection, name: string): Promise<Pool> {
  const pools = poolsOf(await connection.pipeline());
  const found = pools.find((pool) => pool.name === name);
  if (found !== undefined) return found;
  throw new CliError(
    'unknown_pool',
    `there is no worker pool "${name}"; there are: ${pools.map((pool) => pool.name).join(', ')}`,
    'Right: npx edow pool pause shipping',
    { exitCode: EXIT.usage },
  );
}

export interface PoolPorts {
  readonly feeds: Feeds;
  readonly depths: QueueDepths;
  readonly now: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
}

const POLL_MS = 1_000;
/** The depth is approximate: two looks in a row must agree. */
const QUIET_LOOKS = 2;

/** Waits until the mapping is as asked, or the time is up; returns its state. */
export async function settled(
  { feeds, now, sleep }: PoolPorts,
  { functionName, queueArn }: Pool,
  on: boolean,
  timeoutMs: number,
): Promise<string> {
  const until = now() + timeoutMs;
  for (;;) {
    const state = await feeds.state(functionName, queueArn);
    if (state === (on ? 'Enabled' : 'Disabled') || now() >= until) return state;
    await sleep(POLL_MS);
  }
}

/**
 * Pauses a pool and waits until nothing is in flight.
 * @param tell gets a line after each look
 */
export async function drain(
  ports: PoolPorts,
  pool: Pool,
  timeoutMs: number,
  tell: (line: string) => void,
): Promise<Depth & { readonly finished: boolean; readonly state: string }> {
  const until = ports.now() + timeoutMs;
  await ports.feeds.turn(pool.functionName, pool.queueArn, false);
  let quiet = 0;
  for (;;) {
    const state = await ports.feeds.state(pool.functionName, pool.queueArn);
    const depth = await ports.depths(pool.queueUrl);
    // While the mapping is being disabled its pollers may still take messages.
    quiet = state === 'Disabled' && depth.inFlight === 0 ? quiet + 1 : 0;
    if (quiet >= QUIET_LOOKS) return { ...depth, state, finished: true };
    if (ports.now() >= until) return { ...depth, state, finished: false };
    tell(`${pool.name}: ${state}, ${depth.inFlight} in flight, ${depth.waiting} waiting`);
    await ports.sleep(POLL_MS);
  }
}
