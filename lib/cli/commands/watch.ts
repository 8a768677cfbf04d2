import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { RunView } from '#core/run-view.ts';
import { EXIT } from '../errors.ts';
import { leaf, open, runId, type Session, type SharedFlags, screenFor, whole } from '../leaf.ts';
import type { Api } from '../ports.ts';
import { duration } from '../text.ts';
import { statusText, timeline } from '../timeline.ts';

const DEFAULT_TIMEOUT = 120;
const POLL_MS = 500;

export function addWatch(program: Command, session: Session): void {
  leaf(program, {
    usage: 'watch',
    summary: 'follow a run until it ends or is held',
    examples: [
      ['npx edow watch 01JDQ8Z6W3M2T9V5K7X0ABCDEF', 'for two minutes at most'],
      ['npx edow watch 01JDQ8Z6W3M2T9V5K7X0ABCDEF --timeout 600', 'for ten'],
    ],
    notes: ['Exit code 0: succeeded, 3: held or failed, 4: still running when the time was up.'],
  })
    .argument('<run>', 'id of the run', runId)
    .option('--timeout <seconds>', 'how long to wait', whole(1, 86_400), DEFAULT_TIMEOUT)
    .action(async (id: string, flags: SharedFlags & { timeout: number }) => {
      const screen = screenFor(session, flags);
      const api = await (await open(session, flags)).api();
      const { run, timedOut } = await follow(api, id, flags.timeout * 1000, (line) => screen.say(line));
      session.exitCode = timedOut ? EXIT.timeout : run.status === 'succeeded' ? EXIT.ok : EXIT.unhappy;
      if (screen.json) return screen.emit({ ...run, timedOut });
      screen.print();
      for (const line of timeline(run, new Date().toISOString(), screen.paint, screen.width))
        screen.print(line);
      if (timedOut) screen.print(`\nStill ${statusText(screen.paint, run.status)} after ${flags.timeout} s.`);
    });
}

/** Polls until the run is no longer running or the time is up; tells each change of a step once. */
export async function follow(
  api: Api,
  id: string,
  timeoutMs: number,
  tell: (line: string) => void,
): Promise<{ run: RunView; timedOut: boolean }> {
  const until = Date.now() + timeoutMs;
  const told = new Set<string>();
  for (;;) {
    const run = await api.run(id);
    for (const line of news(run)) {
      if (!told.has(line)) tell(line);
      told.add(line);
    }
    if (run.status !== 'running') return { run, timedOut: false };
    if (Date.now() >= until) return { run, timedOut: true };
    await sleep(Math.min(POLL_MS, Math.max(0, until - Date.now())));
  }
}

/** What can be said of a run, a line for each thing that happened; the same text for the same thing. */
export function news(run: RunView): string[] {
  const at = (time: string | undefined): string =>
    time === undefined
      ? ' '.repeat(11)
      : `+${duration(Date.parse(time) - Date.parse(run.startedAt))}`.padStart(11);
  return run.steps.flatMap((step) => [
    `${at(step.enteredAt)}  ${step.step} entered`,
    ...step.attempts.map(({ number, outcome, startedAt, endedAt, error, message }) =>
      outcome === 'lost'
        ? `${at(startedAt)}  ${step.step} try ${number} was lost`
        : `${at(endedAt)}  ${step.step} try ${number} failed: ${error}: ${message}`,
    ),
    ...(step.status === 'done' ? [`${at(step.endedAt)}  ${step.step} done`] : []),
    ...(step.status === 'dead' ? [`${at(step.endedAt)}  ${step.step} gave up (${step.reason})`] : []),
  ]);
}
