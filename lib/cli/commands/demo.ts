import type { Command } from 'commander';
import { stopCloud } from '#local/emulator.ts';
import { deployWithProgress, startWithProgress } from '../cloud-life.ts';
import { farewell, runScenes } from '../demo.ts';
import { localLeaf, open, type Session, type SharedFlags, screenFor } from '../leaf.ts';
import { duration, wrapped } from '../text.ts';
import { port } from './up.ts';

interface Flags extends SharedFlags {
  readonly port?: number;
  readonly fresh?: boolean;
  readonly down?: boolean;
}

const ABOUT =
  'The app is deployed by the real AWS CDK to a local cloud (MiniStack): no AWS account, no container engine. What ' +
  'follows reads its numbers from there.';

export function addDemo(program: Command, session: Session): void {
  localLeaf(program, {
    usage: 'demo',
    summary: 'start, deploy, and see runs succeed, fail, be replayed and heal',
    examples: [
      ['npx edow demo', 'leaves the local cloud running, to go on by hand'],
      ['npx edow demo --down', 'stops it at the end, as it does where CI=true'],
      ['npx edow demo --port 4600', 'where 4566 is taken'],
    ],
    notes: ['Run again, it uses the cloud that runs, deploys what was changed, and sends new orders.'],
  })
    .option('--port <number>', 'port of 127.0.0.1 (default: 4566, or where it ran before)', port)
    .option('--fresh', 'empty the local cloud first, if it runs already')
    .option('--down', 'stop the local cloud at the end')
    .action(async (flags: Flags) => {
      const screen = screenFor(session, flags);
      const begun = Date.now();
      const { stateDir } = flags;
      session.startAgain = 'npx edow demo';
      session.ifInterrupted =
        'stopped. The local cloud may still run: npx edow demo starts over with it, npx edow down ends it.';
      screen.say(screen.paint('bold', 'edow: an event-driven orchestrator with workers, in seven scenes'));
      for (const line of wrapped(ABOUT, Math.min(100, screen.width), '   ')) screen.say(line);
      screen.say();
      screen.say(screen.paint('bold', '0. The cloud'));
      const { cloud } = await startWithProgress(session, screen, flags);
      await deployWithProgress(screen, cloud);
      const connection = await open(session, { stateDir });
      const report = await runScenes(screen, connection);
      const endsHere = flags.down === true || isCi(session.io.env['CI']);
      if (!endsHere) await farewell(screen, connection, report.healed, stateDir);
      else await stopCloud({ stateDir });
      screen.say();
      if (endsHere)
        screen.say('The local cloud is stopped. Keep it next time: npx edow demo (without --down and CI)');
      screen.say(`Done in ${duration(Date.now() - begun)}.`);
      if (screen.json) screen.emit({ ...report, running: !endsHere, milliseconds: Date.now() - begun });
    });
}

const isCi = (value: string | undefined): boolean =>
  value !== undefined && !['', '0', 'false'].includes(value);
