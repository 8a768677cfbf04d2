/** Spreads seeds over worker threads. */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { type Line, lineOf } from './report.ts';
import { schedule } from './schedule.ts';

interface Share {
  readonly from: number;
  /** Not included. */
  readonly to: number;
  readonly step: number;
  /** Lowest seed that failed, shared by all threads: nobody goes on past it. Without it all seeds are run. */
  readonly failed: Int32Array | undefined;
  /** No schedule begins after so many seconds. */
  readonly seconds: number;
}

/** Lines of one message: a message each would cost more than the schedule's thread can save. */
const CHUNK = 25;

async function work(
  { from, to, step, failed, seconds }: Share,
  send: (lines: Line[]) => void,
): Promise<void> {
  // Thousands of refusals are thrown, and nobody reads where.
  Error.stackTraceLimit = 0;
  const ends = performance.now() + seconds * 1000;
  let lines: Line[] = [];
  for (let seed = from; seed < to; seed += step) {
    if (performance.now() > ends || (failed !== undefined && Atomics.load(failed, 0) < seed)) break;
    const line = lineOf(await schedule(seed));
    lines.push(line);
    if (failed !== undefined && line.broken.length > 0)
      Atomics.store(failed, 0, Math.min(seed, Atomics.load(failed, 0)));
    if (lines.length >= CHUNK) {
      send(lines);
      lines = [];
    }
  }
  send(lines);
}

/** A schedule's garbage, some 15 MB, dies young. */
const YOUNG_MB = 64;
const HIGHEST = 2_147_483_647;

export interface Campaign {
  /** First seed, and the one after the last. */
  readonly from: number;
  readonly to: number;
  /** Default 2. */
  readonly threads?: number;
  /** Runs no seed above the lowest that fails. Default false. */
  readonly untilFailure?: boolean;
  /** No schedule begins after so many seconds. Default: all are run. */
  readonly seconds?: number;
}

/**
 * Runs seeds on threads.
 * @param onLines told of finished schedules, in no order of seeds
 */
export async function runSeeds(campaign: Campaign, onLines: (lines: readonly Line[]) => void): Promise<void> {
  const { from, to, threads = 2, untilFailure = false, seconds = Number.POSITIVE_INFINITY } = campaign;
  const failed = untilFailure ? new Int32Array(new SharedArrayBuffer(4)).fill(HIGHEST) : undefined;
  await Promise.all(
    Array.from(
      { length: threads },
      (_, at) =>
        new Promise<void>((resolve, reject) => {
          const share: Share = { from: from + at, to, step: threads, failed, seconds };
          const thread = new Worker(new URL(import.meta.url), {
            workerData: share,
            resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
          });
          thread.on('message', onLines);
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
