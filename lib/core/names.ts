/** Names that travel: command and event types, state names, workflow names. */
import { ContractError } from './errors.ts';

const THREE_PARTS = /^[a-z][a-z0-9-]*(?:\.[a-z][a-z0-9-]*){2}$/;

/** Verbs whose past tense does not end in `ed`; the commonest in event names. */
const IRREGULAR_PAST = new Set(
  'begun bought brought built chosen done drawn driven found frozen given gone held hidden kept laid left lent lost made met overdue paid put read run seen sent set shown sold spent split sought stolen swept taken thrown told torn undone won withdrawn written'.split(
    ' ',
  ),
);
/** Imperatives that end in `ed` all the same. */
const IMPERATIVE_ED = new Set(['embed', 'feed', 'need', 'proceed', 'seed', 'shed', 'speed', 'wed', 'weed']);

const lastPart = (type: string): string => type.slice(type.lastIndexOf('.') + 1);
const isPast = (verb: string): boolean =>
  (verb.endsWith('ed') && !IMPERATIVE_ED.has(verb)) || IRREGULAR_PAST.has(verb);
/** Past forms that are their own imperative: `read`, `put`, `set` ... */
const BOTH = new Set(['put', 'read', 'run', 'set', 'split']);

function assertThreeParts(kind: string, type: string): void {
  if (!THREE_PARTS.test(type) || type.length > 120)
    throw new ContractError(
      `${kind} "${type}" is not of the form domain.object.action (lower case letters, digits and hyphens, at most 120 characters): write it like "inventory.stock.reserve"`,
    );
}

/** @throws ContractError unless `type` is three lower-case parts with an imperative last, e.g. `inventory.stock.reserve`. */
export function assertCommandType(type: string): void {
  assertThreeParts('command', type);
  const verb = lastPart(type);
  if (isPast(verb) && !BOTH.has(verb))
    throw new ContractError(
      `command "${type}" ends in the past tense "${verb}": a command says what to do, as in "inventory.stock.reserve"`,
    );
}

/** @throws ContractError unless `type` is three lower-case parts with a past tense last, e.g. `inventory.stock.reserved`. */
export function assertEventType(type: string): void {
  assertThreeParts('event', type);
  const verb = lastPart(type);
  if (!isPast(verb))
    throw new ContractError(
      `event "${type}" ends in "${verb}", which is not in the past tense: an event says what happened, as in "inventory.stock.reserved"`,
    );
}

const STEP_KEY = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

/** @throws ContractError unless the key can stand in a task id and an execution history. */
export function assertStepKey(stepKey: string): void {
  if (!STEP_KEY.test(stepKey))
    throw new ContractError(
      `"${stepKey}" cannot be a step key: use a letter, then letters, digits, "-" or "_", at most 64 characters`,
    );
}

const WORKFLOW_NAME = /^[a-z][a-z0-9-]{0,39}$/;

/** @throws ContractError unless the name can stand in a URL and in a key. */
export function assertWorkflowName(name: string): void {
  if (!WORKFLOW_NAME.test(name))
    throw new ContractError(
      `"${name}" cannot be a workflow name: use a lower-case letter, then letters, digits or "-", at most 40 characters`,
    );
}

/** URI of a task's schema, as it stands in `dataschema`. */
export const schemaUri = (type: string, version: number): string => `urn:edow:schema:${type}:${version}`;
