/** Runs the handler of a claimed task between the checks of its input and of its result. */
import { checkValue, type TaskContext, type TaskHandler } from './contract.ts';
import type { Delivery } from './delivery.ts';
import type { Command } from './envelope.ts';
import { ContractError, PermanentError } from './errors.ts';
import type { StepItem } from './items.ts';
import type { Clock, Payloads } from './ports.ts';
import { keepResult, type Result } from './result.ts';

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
    return keepResult(payloads, claimed, command.tenant, contract.expose, output.value);
  }

  return handled;
}

const problemsText = (problems: readonly { readonly pointer: string; readonly detail: string }[]): string =>
  problems.map(({ pointer, detail }) => `${pointer || '/'} ${detail}`).join('; ');
