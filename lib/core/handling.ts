/** Runs the handler of a claimed task between the checks of its input and of its result. */
import {
  checkValue,
  type InTransaction,
  problemsText,
  type TaskContext,
  type TaskHandler,
} from './contract.ts';
import type { Delivery } from './delivery.ts';
import type { Command } from './envelope.ts';
import { ContractError, PermanentError, UnknownOutcomeError } from './errors.ts';
import type { StepItem } from './items.ts';
import type { Clock, Payloads } from './ports.ts';
import { keepResult, type Result } from './result.ts';
import { assertTableWrites, type TableWrite } from './table-write.ts';

/** What a handler made: its result as it will be stored, and the writes of a `transactional` task. */
export interface Handled {
  readonly result: Result;
  readonly writes?: readonly TableWrite[];
  readonly refused?: InTransaction<unknown>['refused'];
}

export function handling({ payloads, clock }: { readonly payloads: Payloads; readonly clock: Clock }) {
  /** Reads and checks the input: nothing of the handler has run when this throws. */
  async function inputOf(command: Command, { contract }: TaskHandler): Promise<unknown> {
    const data: unknown =
      command.dataref === undefined
        ? command.data
        : JSON.parse(await payloads.get(command.dataref, command.tenant));
    const input = checkValue(contract.input, data);
    if (!input.ok)
      throw new PermanentError(
        `the input does not fit ${contract.type} version ${contract.version}: ${problemsText(input.problems)}`,
      );
    return input.value;
  }

  async function handled(
    claimed: StepItem,
    command: Command,
    handler: TaskHandler,
    input: unknown,
    delivery: Delivery,
  ): Promise<Handled> {
    const { contract } = handler;
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
    const returned = await handler.run(input, context);
    if (contract.mode !== 'transactional')
      return { result: await checked(claimed, command, handler, returned) };
    const { output, writes, refused } = (returned ?? {}) as InTransaction<unknown>;
    assertTableWrites(contract.type, writes);
    const result = await checked(claimed, command, handler, output);
    return { result, writes, ...(refused && { refused }) };
  }

  async function checked(
    claimed: StepItem,
    command: Command,
    { contract }: TaskHandler,
    returned: unknown,
  ): Promise<Result> {
    try {
      const output = checkValue(contract.output, returned);
      if (!output.ok)
        throw new ContractError(
          `the handler's result does not fit ${contract.type} version ${contract.version}: ${problemsText(output.problems)}`,
        );
      return await keepResult(payloads, claimed, command.tenant, contract.expose, output.value);
    } catch (error) {
      // The handler has run: a replay after the fix would call it again.
      if (contract.mode === 'atMostOnce' && error instanceof ContractError)
        throw new UnknownOutcomeError(error.message, { cause: error });
      throw error;
    }
  }

  return { inputOf, handled };
}
