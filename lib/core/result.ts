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
 * @param expose names of the output fields that states may see
 * @throws ContractError when the result is no JSON or nested too deep, or the exposed fields hold more than is kept inline
 */
export function keepResult(
  payloads: Payloads,
  step: StepItem,
  tenant: string,
  expose: readonly string[],
  output: unknown,
): Promise<Result> {
  const text = textOf(step.type, output);
  const key = `${tenant}/${step.runId}/${step.stepKey}-${step.fence}.json`;
  const kept = () => keepPayload(payloads, key, text);
  return expose.length === 0 ? kept() : withExposed(kept, step, expose, output);
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

async function withExposed(
  keep: () => Promise<Result>,
  step: StepItem,
  expose: readonly string[],
  output: unknown,
): Promise<Result> {
  const exposed = JSON.stringify(fieldsOf(output, expose));
  if (Buffer.byteLength(exposed) > INLINE_BYTES)
    throw new ContractError(
      `the exposed fields of ${step.type} hold more than ${INLINE_BYTES} bytes: expose only what a Choice needs`,
    );
  return { ...(await keep()), exposed };
}

const fieldsOf = (output: unknown, names: readonly string[]): object =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = (output as Record<string, unknown> | null)?.[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
