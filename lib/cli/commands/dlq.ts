import type { Command } from 'commander';
import type { Session } from '../leaf.ts';
import { addDiscard } from './dlq-discard.ts';
import { addList } from './dlq-list.ts';
import { addPeek } from './dlq-peek.ts';
import { addReplay } from './dlq-replay.ts';
import { addShowDead } from './dlq-show.ts';

export function addDlq(program: Command, session: Session): void {
  const dlq = program
    .command('dlq')
    .description('dead letters: list them, replay them, throw them away')
    .helpCommand(false);
  addList(dlq, session);
  addShowDead(dlq, session);
  addPeek(dlq, session);
  addReplay(dlq, session);
  addDiscard(dlq, session);
}
