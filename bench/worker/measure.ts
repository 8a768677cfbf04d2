/**
 * One process, both workers, alternating rounds: `measure.ts RESULT ROUNDS [--wired] WORKER...`. Standard output is the
 * workers' log; the result goes to the file given. `--wired`: each worker also with the SDK's own work.
 */
import { writeFileSync } from 'node:fs';
import { basename, extname } from 'node:path';
import {
  constants,
  type NodeGCPerformanceDetail,
  type PerformanceEntry,
  PerformanceObserver,
} from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';
import { BATCH, context, event } from './events.ts';
import { stubClient, wireClient } from './stub-client.ts';

const [resultFile = '', rounds, ...more] = process.argv.slice(2);
const isWired = more[0] === '--wired';
const bundles = isWired ? more.slice(1) : more;
const ROUNDS = Number(rounds);
const RECORDS = 1_000;

type Handler = (event: object, context: object) => Promise<{ batchItemFailures: unknown[] }>;
interface Subject {
  readonly name: string;
  readonly handler: Handler;
  readonly counts: Map<string, number>;
  readonly cpuMicros: number[];
  readonly bytes: number[];
}

let collections = 0;
new PerformanceObserver((list) => {
  // Our own calls of gc() apart.
  const forced = constants.NODE_PERFORMANCE_GC_FLAGS_FORCED;
  collections += list
    .getEntries()
    .filter(
      (entry) =>
        ((entry as PerformanceEntry & { detail: NodeGCPerformanceDetail }).detail.flags ?? 0) !== forced,
    ).length;
}).observe({ entryTypes: ['gc'] });

async function round(subject: Subject, measured: boolean): Promise<void> {
  const events = Array.from({ length: RECORDS / BATCH }, () => event());
  globalThis.gc?.();
  await new Promise((resolve) => setTimeout(resolve, 20));
  const before = { cpu: process.cpuUsage(), heap: process.memoryUsage().heapUsed, collections };
  for (const one of events) {
    const { batchItemFailures } = await subject.handler(one, { ...context });
    if (batchItemFailures.length > 0)
      throw new Error(`${subject.name} failed records: the bench measures nothing`);
  }
  const { user, system } = process.cpuUsage(before.cpu);
  const bytes = process.memoryUsage().heapUsed - before.heap;
  await new Promise((resolve) => setTimeout(resolve, 20));
  if (collections !== before.collections)
    throw new Error('a garbage collection came between: raise --max-semi-space-size');
  if (!measured) return;
  subject.cpuMicros.push((user + system) / RECORDS);
  subject.bytes.push(bytes / RECORDS);
}

const subjects: Subject[] = [];
for (const bundle of bundles) {
  const counts = new Map<string, number>();
  const { make } = (await import(pathToFileURL(bundle).href)) as {
    make: (client: unknown) => Handler;
  };
  const name = basename(bundle, extname(bundle));
  subjects.push({ name, handler: make(stubClient(counts)), counts, cpuMicros: [], bytes: [] });
  if (!isWired) continue;
  const wired = { name: `${name} with the SDK`, handler: make(wireClient()), counts: new Map() };
  subjects.push({ ...wired, cpuMicros: [], bytes: [] });
}
for (let warm = 0; warm < 3; warm += 1) for (const subject of subjects) await round(subject, false);
for (let turn = 0; turn < ROUNDS; turn += 1) for (const subject of subjects) await round(subject, true);

writeFileSync(
  resultFile,
  JSON.stringify(
    subjects.map(({ name, counts, cpuMicros, bytes }) => ({ name, counts: [...counts], cpuMicros, bytes })),
  ),
);
