/** Stops a replay whose cause is not mended: by a canary, and by the share of the replayed that die again. */
import type { StepItem } from '#core/items.ts';
import type { Outcomes, outcomeWatch } from './outcome-watch.ts';
import { duration } from './text.ts';

/** Outcomes that must be known before their share says anything. */
export const MIN_SAMPLE = 10;
/** Tasks sent and not yet known: with the sample the most that is risked before a stop. */
export const MAX_OPEN = 20;

export interface GuardPlan {
  readonly canary?: number;
  readonly maxFailureRatio?: number;
  readonly waitMs: number;
}

const examplesOf = ({ examples }: Outcomes): string =>
  examples.map(({ task, error }) => `${task} (${error})`).join(', ');

/** @param tell gets what is known while outcomes are waited for */
export function guard(
  { canary, maxFailureRatio, waitMs }: GuardPlan,
  watch: ReturnType<typeof outcomeWatch>,
  tell: (outcomes: Outcomes) => void,
) {
  const watches = canary !== undefined || maxFailureRatio !== undefined;
  let isCanary = canary !== undefined;
  let stopped: string | undefined;
  let watched = 0;
  const waitFor = (atMostOpen: number): Promise<void> =>
    watch.waitFor(atMostOpen, waitMs, () => tell(watch.outcomes()));

  async function judgeCanary(): Promise<void> {
    await waitFor(0);
    isCanary = false;
    const outcomes = watch.outcomes();
    const { dead, open } = outcomes;
    if (dead > 0) stopped = `${dead} of the first ${watched} died again: ${examplesOf(outcomes)}`;
    else if (open > 0) stopped = `${open} of the first ${watched} had no outcome within ${duration(waitMs)}`;
  }

  function judgeRatio(most: number): void {
    const outcomes = watch.outcomes();
    const { done, dead } = outcomes;
    const known = done + dead;
    if (known >= MIN_SAMPLE && dead / known > most)
      stopped = `${dead} of ${known} died again, more than ${most * 100} %: ${examplesOf(outcomes)}`;
  }

  return {
    watches,
    /** Whether the first few are still to be sent or judged. */
    isCanary: (): boolean => isCanary,
    stopped: (): string | undefined => stopped,

    /** A letter was sent. @param task as it was before, where it was dead */
    async after(task: StepItem | undefined, id: string | undefined): Promise<void> {
      if (!watches || task === undefined || id === undefined) return;
      watch.add(task, id);
      watched += 1;
      if (isCanary && watched >= (canary ?? 0)) await judgeCanary();
      if (stopped !== undefined || isCanary || maxFailureRatio === undefined) return;
      await watch.look();
      await waitFor(MAX_OPEN - 1);
      judgeRatio(maxFailureRatio);
    },

    /** All are sent: what is still open is waited for. */
    async end(): Promise<void> {
      if (stopped !== undefined || watched === 0) return;
      if (isCanary) await judgeCanary();
      else if (maxFailureRatio !== undefined) {
        await waitFor(0);
        judgeRatio(maxFailureRatio);
      }
    },
  };
}
