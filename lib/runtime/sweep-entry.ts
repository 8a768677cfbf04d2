/** Binds core's sweeps to the minute's call. */
import { DEPLOYMENT, METRIC } from '#core/metric-names.ts';
import { type SweepPorts, sweeper } from '#core/sweep.ts';
import { type LetterPorts, letterSweeper } from '#core/sweep-letters.ts';
import { chain } from './chain.ts';
import { count } from './metrics.ts';

export interface SweepEntryPorts extends Omit<SweepPorts, 'views'>, Omit<LetterPorts, 'views'> {
  readonly views: SweepPorts['views'] & LetterPorts['views'];
  /** Name of the state table: tells deployments apart. */
  readonly deployment: string;
}

/** No ended run is begun with less than this left: a look takes milliseconds, and the letters come after. Milliseconds. */
export const ENDED_MS = 15_000;
/** No letter is judged with less than this left: those of its pool are let go, and the log is written. Milliseconds. */
export const LETTERS_MS = 10_000;

/** The entry point of the sweeper. */
export function sweepEntry(ports: SweepEntryPorts) {
  const { sweep } = sweeper(ports);
  const { sweepLetters } = letterSweeper(ports);
  return chain('sweep', async (_event: unknown, { log, deadlineAt }) => {
    const report = await sweep(log, deadlineAt - ENDED_MS);
    const letters = await sweepLetters(log, deadlineAt - LETTERS_MS);
    log.info('sweep', { ...report, ...letters });
    // Held runs are looked at less and less often, and never forgotten: the alarm comes back until they are healed.
    count(METRIC.heldRuns, report.held, { [DEPLOYMENT]: ports.deployment });
  });
}
