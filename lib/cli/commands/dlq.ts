import type { Command } from 'commander';
import type { Session } from '../leaf.ts';
import { addDiscard } from './dlq-discard.ts';
import { addList } from './dlq-list.ts';
import { addReplay } from './dlq-replay.ts';

export function addDlq(program: Command, session: Session): void {
  const dlq = program
    .command('dlq')
    .description('dead letters: list them, replay them, throw them away')
    .helpCommand(false);
  addList(dlq, session);
  addReplay(dlq, session);
  addDiscard(dlq, session);
}
