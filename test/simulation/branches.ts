/**
 * Which branches of the delivery core the simulation alone never takes: `npm run sim:branches [-- SCHEDULES]`.
 * Type stripping keeps every character in its place, so that V8's offsets are those of the source.
 */
import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';
import { EXCUSED, type Excuse } from './excused.ts';
import { schedule } from './schedule.ts';

const CORE = [
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
];
const DEFAULT_SCHEDULES = 2000;

interface Gap {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** Blocks of code that ran in none of the schedules. */
export async function gapsAfter(schedules: number): Promise<{ gaps: Gap[]; files: number }> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  for (let seed = 0; seed < schedules; seed += 1) await schedule(seed);
  const { result } = await session.post('Profiler.takePreciseCoverage');
  session.disconnect();
  const gaps: Gap[] = [];
  let files = 0;
  for (const script of result) {
    const name = /\/lib\/core\/([\w-]+)\.ts$/.exec(script.url)?.[1];
    if (name === undefined || !CORE.includes(name)) continue;
    files += 1;
    const source = readFileSync(fileURLToPath(script.url), 'utf8');
    for (const { ranges } of script.functions)
      for (const { startOffset, endOffset, count } of ranges) {
        const text = source.slice(startOffset, endOffset).trim();
        if (count > 0 || /^[})\];\s]*$/.test(text)) continue;
        const line = source.slice(0, startOffset).split('\n').length;
        gaps.push({ file: `lib/core/${name}.ts`, line, text: (text.split('\n')[0] ?? '').slice(0, 100) });
      }
  }
  return { gaps, files };
}

const excuseOf = (gap: Gap): Excuse | undefined =>
  EXCUSED.find(({ file, text }) => gap.file === `lib/core/${file}.ts` && gap.text.startsWith(text));

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const schedules = Number(process.argv[2] ?? DEFAULT_SCHEDULES);
  const { gaps, files } = await gapsAfter(schedules);
  for (const gap of gaps)
    console.log(`${gap.file}:${gap.line}  ${gap.text}  -- ${excuseOf(gap)?.why ?? 'NOT TAKEN, NO REASON'}`);
  for (const excuse of EXCUSED)
    if (!gaps.some((gap) => excuseOf(gap) === excuse))
      console.log(`lib/core/${excuse.file}.ts  ${excuse.text}  -- is taken, or gone: its excuse can go`);
  const unexcused = gaps.filter((gap) => excuseOf(gap) === undefined);
  console.log(
    `branches: ${gaps.length} not taken in ${schedules} schedules, ${unexcused.length} of them without a reason; ${files} files looked at`,
  );
  process.exitCode = files === CORE.length && unexcused.length === 0 ? 0 : 1;
}
