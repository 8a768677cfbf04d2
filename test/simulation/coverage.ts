/**
 * In how many schedules each character of the delivery core ran. Type stripping keeps every character in its place, so
 * that V8's offsets are those of the source.
 */
import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/** Files of lib/core whose branches the simulation must take. */
export const CORE = [
  'claim',
  'claiming',
  'outcome',
  'deaths',
  'worker',
  'handling',
  'write-twice',
  'dispatch',
  'collect',
  'close',
  'resume',
  'sweep',
  'parking',
];

const sourceUrl = (name: string): URL => new URL(`../../lib/core/${name}.ts`, import.meta.url);
export const sourceOf = (name: string): string => readFileSync(sourceUrl(name), 'utf8');

/** Schedules by file of {@link CORE} and by character. */
export type Hits = ReadonlyMap<string, Uint32Array>;

const noHits = (): Map<string, Uint32Array> =>
  new Map(CORE.map((name) => [name, new Uint32Array(sourceOf(name).length)]));

/** More than any number of schedules. */
const LOADED = 1_000_000_000;

interface Share {
  readonly from: number;
  /** Not included. */
  readonly to: number;
  readonly step: number;
}

async function hitsOf({ from, to, step }: Share): Promise<Map<string, Uint32Array>> {
  // Thousands of refusals are thrown, and nobody reads where.
  Error.stackTraceLimit = 0;
  const names = new Map(CORE.map((name) => [sourceUrl(name).href, name]));
  const hits = noHits();
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  /** Adds `weight` where something ran since the last time. */
  const add = async (weight: number): Promise<void> => {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    for (const { url, functions } of result) {
      const sums = hits.get(names.get(url) ?? '');
      if (sums === undefined) continue;
      const ran = new Uint32Array(sums.length);
      // The outer before the inner ones.
      for (const { ranges } of functions)
        for (const { startOffset, endOffset, count } of ranges)
          ran.fill(count > 0 ? weight : 0, startOffset, endOffset);
      for (let at = 0; at < ran.length; at += 1) sums[at] = (sums[at] ?? 0) + (ran[at] ?? 0);
    }
  };
  const { schedule } = await import('./schedule.ts');
  // What a module does when it is loaded is no branch.
  await add(LOADED);
  for (let seed = from; seed < to; seed += step) {
    await schedule(seed);
    await add(1);
  }
  session.disconnect();
  return hits;
}

/** Runs seeds 0 to `schedules` - 1 on threads. */
export async function coverage(schedules: number, threads: number): Promise<Hits> {
  const total = noHits();
  await Promise.all(
    Array.from(
      { length: threads },
      (_, from) =>
        new Promise<void>((resolve, reject) => {
          const share: Share = { from, to: schedules, step: threads };
          const thread = new Worker(new URL(import.meta.url), { workerData: share });
          thread.on('message', (hits: Hits) => {
            for (const [name, counts] of hits) {
              const sums = total.get(name);
              counts.forEach((count, at) => {
                if (sums) sums[at] = (sums[at] ?? 0) + count;
              });
            }
          });
          thread.on('error', reject);
          thread.on('exit', () => resolve());
        }),
    ),
  );
  return total;
}

if (!isMainThread && parentPort) parentPort.postMessage(await hitsOf(workerData as Share));
