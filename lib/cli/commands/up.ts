import type { Command } from 'commander';
import { logFile } from '#local/emulator-process.ts';
import { deployWithProgress, startWithProgress } from '../cloud-life.ts';
import { localLeaf, type Session, type SharedFlags, screenFor, whole } from '../leaf.ts';

export const port = whole(1, 65_535);

export function addUp(program: Command, session: Session): void {
  localLeaf(program, {
    usage: 'up',
    summary: 'start the local cloud and deploy the app to it',
    examples: [
      ['npx edow up', 'install what is missing, start, bootstrap, deploy'],
      ['npx edow up --port 4600', 'where 4566 is taken'],
    ],
    notes: ['It needs python3 (3.10 or newer, with venv), nothing else: no container engine, no account.'],
  })
    .option('--port <number>', 'port of 127.0.0.1 (default: 4566, or where it ran before)', port)
    .option('--fresh', 'empty the local cloud first, if it runs already')
    .action(async (flags: SharedFlags & { port?: number; fresh?: boolean }) => {
      const screen = screenFor(session, flags);
      session.ifInterrupted = 'stopped. Run npx edow up to go on, or npx edow down to end the local cloud.';
      screen.say('Starting the local cloud');
      const { cloud, reused } = await startWithProgress(session, screen, flags);
      screen.say('Deploying');
      await deployWithProgress(screen, cloud);
      if (screen.json) return screen.emit({ endpoint: cloud.endpoint, pid: cloud.pid, reused });
      screen.print();
      screen.print(`The local cloud runs at ${cloud.endpoint} (log: ${logFile(cloud.stateDir)}).`);
      screen.print('Next: npx edow demo, npx edow start order --input order.json, npx edow status');
      screen.print('End it: npx edow down');
    });
}
