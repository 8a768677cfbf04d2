/** What an operator did to a task's dead letter, noted on the task: its status does not change by it. */
import type { Discard, Edit, StepItem } from './items.ts';
import { all, present, to, type Update, where } from './store.ts';

/** Places kept of one edit. */
const MAX_PLACES = 20;

/**
 * Before an edited copy is sent: a worker that meets other data under the same id then knows it for what it is.
 * Conditional on the death that was looked at.
 */
export const editedByPersonOf = (step: StepItem, edit: Edit): Update => ({
  key: { PK: step.PK, SK: step.SK },
  when: all(where('status', '=', 'dead'), where('fence', '=', step.fence), where('seq', '=', step.seq)),
  changes: { edited: to({ ...edit, places: edit.places.slice(0, MAX_PLACES) }) },
});

/** Before a letter is deleted. Whatever its task is by now, the letter is gone. */
export const discardedByPersonOf = (step: StepItem, discard: Discard): Update => ({
  key: { PK: step.PK, SK: step.SK },
  when: present('PK'),
  changes: { discarded: to({ ...discard }) },
});
