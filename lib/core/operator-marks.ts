/** What an operator did to a task's dead letter, noted on the task: its status does not change by it. */
import { deadAsRead } from './deaths.ts';
import type { Discard, Edit, StepItem } from './items.ts';
import { present, to, type Update } from './store.ts';

/** Places kept of one edit. */
const MAX_PLACES = 20;

/**
 * Before an edited copy is sent: a worker that meets other data under the same id then knows it for what it is.
 * Conditional on the death that was looked at.
 */
export const editedByPersonOf = (step: StepItem, edit: Edit): Update => ({
  key: { PK: step.PK, SK: step.SK },
  when: deadAsRead(step),
  changes: { edited: to({ ...edit, places: edit.places.slice(0, MAX_PLACES) }) },
});

/** Before a letter is deleted. Whatever its task is by now, the letter is gone. */
export const discardedByPersonOf = (step: StepItem, discard: Discard): Update => ({
  key: { PK: step.PK, SK: step.SK },
  when: present('PK'),
  changes: { discarded: to({ ...discard }) },
});
