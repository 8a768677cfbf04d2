/** A dead letter whose data an operator changes: checked, shown, and otherwise byte for byte the letter that it was. */
import { dataDigest } from '#core/claim.ts';
import { checkValue, problemsText } from '#core/contract.ts';
import { COMMAND_DATA_BYTES } from '#core/dispatch.ts';
import type { Command } from '#core/envelope.ts';
import { wireText } from '#core/json-text.ts';
import { partitionKeyOf } from '#core/ordering-key.ts';
import type { Payloads } from '#core/ports.ts';
import { isUnreadable, parseCommand } from '#core/read-command.ts';
import { CliError } from './errors.ts';
import { type Difference, differences, type SetValue, withValue } from './json-patch.ts';
import { withMember } from './json-splice.ts';
import type { Judged } from './letter-filter.ts';
import type { EditedBody } from './replay-copy.ts';
import { contractOf } from './resolve.ts';

/** All of the data, or some of its places. */
export type Patch = { readonly whole: unknown } | { readonly set: readonly SetValue[] };

export interface LetterEdit {
  /** Empty: the letter has these values already. */
  readonly changes: readonly Difference[];
  /** Stores large data, and gives the body to send. */
  readonly write: () => Promise<EditedBody>;
}

/** Members that hold the data, or where it is. */
const HOLDERS = ['data', 'dataref'];

const impossible = (task: string, why: string): CliError =>
  new CliError('edit_impossible', `the letter of ${task} cannot be edited: ${why}`, 'Nothing was sent.');

/**
 * @param number of the replay, part of the key of large data
 * @throws CliError `edit_impossible`, `edit_invalid`
 */
export async function editLetter(
  payloads: Payloads,
  { letter }: Judged,
  patch: Patch,
  number: number,
): Promise<LetterEdit> {
  const command = parseCommand(letter.body);
  if (isUnreadable(command)) throw impossible(letter.messageId, command.problem);
  const { id, dataref } = command;
  // Here and not when it is written: by then other letters may be on their way.
  if (withMember(letter.body, HOLDERS, 'data', 'null') === undefined)
    throw impossible(id, 'its body names its data more than once');
  const before: unknown =
    dataref === undefined ? command.data : JSON.parse(await payloads.get(dataref, command.tenant));
  const after = 'whole' in patch ? patch.whole : withPlaces(id, before, patch.set);
  const { input, version, orderBy } = contractOf(command.type);
  const checked = checkValue(input, after);
  if (!checked.ok)
    throw new CliError(
      'edit_invalid',
      `the edited data of ${id} does not fit ${command.type} version ${version}: ${problemsText(checked.problems)}`,
      'Nothing was sent. Correct the values: the contract says what its input is (lib/workflows/<name>/contract.ts).',
    );
  const key = command.partitionkey;
  if (key !== undefined && orderBy !== undefined && keyOf(command, orderBy, after) !== key)
    throw impossible(id, `its place in line hangs on "${orderBy}", which has to stay`);
  return {
    changes: differences(before, after),
    write: () => written(payloads, letter.body, command, after, number),
  };
}

const keyOf = ({ tenant, type }: Command, orderBy: string, data: unknown): string =>
  partitionKeyOf(tenant, type, orderBy, data);

function withPlaces(task: string, data: unknown, set: readonly SetValue[]): unknown {
  return set.reduce((value, { pointer, value: to }) => {
    const changed = withValue(value, pointer, to);
    if (changed === undefined) throw impossible(task, `its data has no place ${pointer}`);
    return changed;
  }, data);
}

async function written(
  payloads: Payloads,
  body: string,
  command: Command,
  data: unknown,
  number: number,
): Promise<EditedBody> {
  const { id, tenant, runid, step } = command;
  const text = wireText(data);
  const inline = Buffer.byteLength(text) <= COMMAND_DATA_BYTES;
  const pointer = inline ? '' : await payloads.put(`${tenant}/${runid}/${step}-edit-${number}.json`, text);
  const edited = inline
    ? withMember(body, HOLDERS, 'data', text)
    : withMember(body, HOLDERS, 'dataref', JSON.stringify(pointer));
  const read = edited === undefined ? undefined : parseCommand(edited);
  if (edited === undefined || read === undefined || isUnreadable(read))
    throw impossible(id, 'it would be no command any more');
  return { body: edited, digest: dataDigest(read) };
}
