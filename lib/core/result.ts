/** How a task's result is kept: inline or behind a pointer, with the fields that states may see beside it. */
import { ContractError } from './errors.ts';
import type { StepItem } from './items.ts';
import { isDeeper, RESULT_LEVELS, tooDeep } from './nesting.ts';
import { INLINE_BYTES, keepPayload } from './payload.ts';
import type { Payloads } from './ports.ts';

export interface Result {
  /** JSON text, or a pointer to it. */
  readonly text?: string;
  readonly ref?: string;
  /** JSON text of the exposed fields; undefined where nothing is exposed. */
  readonly exposed?: string;
}

/**
 * A result that is kept on the item, as nearly all are, is there without waiting.
 * @param expose names of the output fields that states may see
 * @throws ContractError when the result is no JSON or nested too deep, or the exposed fields hold more than is kept inline
 */
export function keepResult(
  payloads: Payloads,
  step: StepItem,
  tenant: string,
  expose: readonly string[],
  output: unknown,
): Result | Promise<Result> {
  const text = textOf(step.type, output);
  const exposed = exposedOf(step, expose, output);
  const kept = keepPayload(payloads, `${tenant}/${step.runId}/${step.stepKey}-${step.fence}.json`, text);
  if (exposed === undefined) return kept;
  return kept instanceof Promise ? kept.then(({ ref }) => ({ ref, exposed })) : { text: kept.text, exposed };
}

/** The same value would be returned again: what cannot be kept is an error of the task, and no reason to try again. */
function textOf(type: string, output: unknown): string {
  let text: string;
  try {
    text = JSON.stringify(output) ?? 'null';
  } catch (error) {
    throw new ContractError(`the result of ${type} is no JSON (a cycle, a BigInt, too deep or too long)`, {
      cause: error,
    });
  }
  if (isDeeper(text, RESULT_LEVELS))
    throw new ContractError(`in the result of ${type} ${tooDeep(RESULT_LEVELS)}`);
  return text;
}

function exposedOf(step: StepItem, expose: readonly string[], output: unknown): string | undefined {
  if (expose.length === 0) return undefined;
  const exposed = JSON.stringify(fieldsOf(output, expose));
  if (Buffer.byteLength(exposed) > INLINE_BYTES)
    throw new ContractError(
      `the exposed fields of ${step.type} hold more than ${INLINE_BYTES} bytes: expose only what a Choice needs`,
    );
  return exposed;
}

const fieldsOf = (output: unknown, names: readonly string[]): object =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = (output as Record<string, unknown> | null)?.[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
