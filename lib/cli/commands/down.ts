import { rm } from 'node:fs/promises';
import type { Command } from 'commander';
import { stopCloud } from '#local/emulator.ts';
import { localLeaf, type Session, type SharedFlags, screenFor } from '../leaf.ts';

export function addDown(program: Command, session: Session): void {
  localLeaf(program, {
    usage: 'down',
    summary: 'stop the local cloud; everything in it is gone with it',
    examples: [
      ['npx edow down', 'stop it'],
      ['npx edow down --wipe', 'and remove its logs, certificate and templates'],
    ],
  })
    .option('--wipe', 'remove its state folder too')
    .action(async (flags: SharedFlags & { wipe?: boolean }) => {
      const screen = screenFor(session, flags);
      const { stateDir } = flags;
      const stopped = await stopCloud({ stateDir, say: (line) => screen.say(line) });
      if (flags.wipe) await rm(stateDir, { recursive: true, force: true });
      if (screen.json) return screen.emit({ stopped, wiped: flags.wipe === true });
      screen.print(stopped ? 'The local cloud is stopped.' : 'No local cloud was running.');
      if (flags.wipe) screen.print(`Removed ${stateDir}.`);
    });
}
