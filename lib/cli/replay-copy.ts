/** The copy of a dead letter that goes back to its queue: the letter itself, and where it comes from. */
import type { Command } from '#core/envelope.ts';
import { deduplicationId } from '#core/ordering-key.ts';
import { REPLAY_ATTRIBUTE } from '#runtime/worker-pool.ts';
import { isFifo } from './letter-walk.ts';
import type { DeadLetter, LetterCopy, MessageAttribute, Source } from './ports.ts';

/** Message id of the letter that a copy was made of. */
export const REPLAY_OF_ATTRIBUTE = 'replayof';
/** On a copy whose data an operator changed: hash of the data as it is now. */
export const EDITED_ATTRIBUTE = 'edited';

/** SQS's limit. */
const MAX_ATTRIBUTES = 10;

/** What an edit makes of a letter. */
export interface EditedBody {
  readonly body: string;
  readonly digest: string;
}

/**
 * Body and attributes byte for byte, but for what an edit changed; added are the number of the replay and, as far as
 * there is room, what the copy comes from.
 * @returns undefined: ten attributes of others leave no room for the number that makes a copy a new chance
 */
export function replayCopy(
  source: Source,
  letter: DeadLetter,
  replay: number,
  edited?: EditedBody,
): LetterCopy | undefined {
  const attributes: Record<string, MessageAttribute> = { ...letter.attributes };
  for (const name of [REPLAY_ATTRIBUTE, REPLAY_OF_ATTRIBUTE]) delete attributes[name];
  if (Object.keys(attributes).length >= MAX_ATTRIBUTES) return undefined;
  attributes[REPLAY_ATTRIBUTE] = { dataType: 'Number', text: String(replay) };
  const mark = (name: string, text: string): void => {
    if (name in attributes || Object.keys(attributes).length < MAX_ATTRIBUTES)
      attributes[name] = { dataType: 'String', text };
  };
  if (edited !== undefined) mark(EDITED_ATTRIBUTE, edited.digest);
  mark(REPLAY_OF_ATTRIBUTE, letter.messageId);
  const body = edited?.body ?? letter.body;
  return {
    body,
    attributes,
    ...(letter.groupId !== undefined && { groupId: letter.groupId }),
    // Of what came in, not of what it holds now: new for each number, the same when one number is sent again.
    ...(isFifo(source) && { deduplicationId: deduplicationId(JSON.parse(letter.body) as Command, replay) }),
  };
}
