/** Runs the handler of a claimed task between the checks of its input and of its result. */
import { checkValue, type TaskContext, type TaskHandler } from './contract.ts';
import type { Delivery } from './delivery.ts';
import type { Command } from './envelope.ts';
import { ContractError, PermanentError } from './errors.ts';
import type { StepItem } from './items.ts';
import type { Result } from './outcome.ts';
import { INLINE_BYTES, keepPayload } from './payload.ts';
import type { Clock, Payloads } from './ports.ts';

export function handling({ payloads, clock }: { readonly payloads: Payloads; readonly clock: Clock }) {
  async function handled(
    claimed: StepItem,
    command: Command,
    handler: TaskHandler,
    delivery: Delivery,
  ): Promise<Result> {
    const { contract } = handler;
    const data: unknown =
      command.dataref === undefined ? command.data : JSON.parse(await payloads.get(command.dataref));
    const input = checkValue(contract.input, data);
    if (!input.ok)
      throw new PermanentError(
        `the input does not fit ${contract.type} version ${contract.version}: ${problemsText(input.problems)}`,
        { noEffect: true },
      );
    const context: TaskContext = {
      taskId: command.id,
      runId: command.runid,
      tenant: command.tenant,
      correlationId: command.correlationid,
      idempotencyKey: command.id,
      attempt: claimed.tries,
      signal: delivery.signal,
      remainingMs: () => delivery.deadlineAt - clock.now(),
      log: delivery.log,
    };
    const output = checkValue(contract.output, await handler.run(input.value, context));
    if (!output.ok)
      throw new ContractError(
        `the handler's result does not fit ${contract.type} version ${contract.version}: ${problemsText(output.problems)}`,
      );
    return stored(claimed, command, contract.expose, output.value);
  }

  async function stored(
    claimed: StepItem,
    command: Command,
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
        `the exposed fields of ${command.type} hold more than ${INLINE_BYTES} bytes: expose only what a Choice needs`,
      );
    const key = `${command.tenant}/${command.runid}/${command.step}-${claimed.fence}.json`;
    return { ...(await keepPayload(payloads, key, text)), ...exposed };
  }

  return handled;
}

const problemsText = (problems: readonly { readonly pointer: string; readonly detail: string }[]): string =>
  problems.map(({ pointer, detail }) => `${pointer || '/'} ${detail}`).join('; ');
