/** How a task's result is kept: inline or behind a pointer, with the fields that states may see beside it. */
import { ContractError } from './errors.ts';
import type { StepItem } from './items.ts';
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
 * @throws ContractError when the exposed fields hold more than is kept inline
 */
export async function keepResult(
  payloads: Payloads,
  step: StepItem,
  tenant: string,
  expose: readonly string[],
  output: unknown,
): Promise<Result> {
  const text = JSON.stringify(output) ?? 'null';
  const shown = Object.fromEntries(
    expose.flatMap((field) => {
      const value = (output as Record<string, unknown> | null)?.[field];
      return value === undefined ? [] : [[field, value]];
    }),
  );
  const exposed = expose.length === 0 ? {} : { exposed: JSON.stringify(shown) };
  if (exposed.exposed !== undefined && Buffer.byteLength(exposed.exposed) > INLINE_BYTES)
    throw new ContractError(
      `the exposed fields of ${step.type} hold more than ${INLINE_BYTES} bytes: expose only what a Choice needs`,
    );
  const key = `${tenant}/${step.runId}/${step.stepKey}-${step.fence}.json`;
  return { ...(await keepPayload(payloads, key, text)), ...exposed };
}
