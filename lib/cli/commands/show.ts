import type { Command } from 'commander';
import { leaf, open, runId, type Session, type SharedFlags, screenFor } from '../leaf.ts';
import { timeline } from '../timeline.ts';

export function addShow(program: Command, session: Session): void {
  leaf(program, {
    usage: 'show',
    summary: 'the timeline of a run: steps, tries with their errors, times, output',
    examples: [
      ['npx edow show 01JDQ8Z6W3M2T9V5K7X0ABCDEF', 'as text'],
      ['npx edow show 01JDQ8Z6W3M2T9V5K7X0ABCDEF --json', 'as the API answers it'],
    ],
  })
    .argument('<run>', 'id of the run', runId)
    .action(async (id: string, flags: SharedFlags) => {
      const screen = screenFor(session, flags);
      const run = await (await (await open(session, flags)).api()).run(id);
      if (screen.json) return screen.emit(run);
      for (const line of timeline(run, new Date().toISOString(), screen.paint, screen.width))
        screen.print(line);
      if (run.status === 'held') {
        screen.print();
        screen.print(`Fix the cause, then: npx edow dlq replay --run ${id}   (or: npx edow resume ${id})`);
      }
    });
}
