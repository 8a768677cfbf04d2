/** Spreads seeds over worker threads. */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { type Line, lineOf } from './report.ts';
import { schedule } from './schedule.ts';

interface Share {
  readonly from: number;
  /** Not included. */
  readonly to: number;
  readonly step: number;
  /** Ends at the first failure. */
  readonly untilFailure: boolean;
}

/** Lines of one message: a message each would cost more than the schedule's thread can save. */
const CHUNK = 25;

async function work({ from, to, step, untilFailure }: Share, send: (lines: Line[]) => void): Promise<void> {
  let lines: Line[] = [];
  for (let seed = from; seed < to; seed += step) {
    const line = lineOf(await schedule(seed));
    lines.push(line);
    const stop = untilFailure && line.broken.length > 0;
    if (lines.length >= CHUNK || stop) {
      send(lines);
      lines = [];
    }
    if (stop) break;
  }
  send(lines);
}

/**
 * Runs the seeds from `from` to `to` (not included) on so many threads.
 * @param onLines told of finished schedules, in no order of seeds
 */
export async function runSeeds(
  seeds: { readonly from: number; readonly to: number },
  threads: number,
  untilFailure: boolean,
  onLines: (lines: readonly Line[]) => void,
): Promise<void> {
  const crew: Worker[] = [];
  const share = (at: number): Share => ({ from: seeds.from + at, to: seeds.to, step: threads, untilFailure });
  await Promise.all(
    Array.from(
      { length: threads },
      (_, at) =>
        new Promise<void>((resolve, reject) => {
          const thread = new Worker(new URL(import.meta.url), { workerData: share(at) });
          crew.push(thread);
          thread.on('message', (lines: Line[]) => {
            onLines(lines);
            if (untilFailure && lines.some(({ broken }) => broken.length > 0))
              for (const other of crew) void other.terminate();
          });
          thread.on('error', reject);
          thread.on('exit', () => resolve());
        }),
    ),
  );
}

if (!isMainThread && parentPort) {
  const port = parentPort;
  await work(workerData as Share, (lines) => port.postMessage(lines));
}
