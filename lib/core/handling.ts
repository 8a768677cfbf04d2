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
  /** The data of a command that travelled by its pointer. */
  const dataAt = async (dataref: string, tenant: string): Promise<unknown> =>
    JSON.parse(await payloads.get(dataref, tenant));

  /** Checks the input: nothing of the handler has run when this throws. */
  function inputOf(data: unknown, { contract }: TaskHandler): unknown {
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
    try {
      if (contract.mode === 'transactional') return await inTransaction(claimed, command, handler, returned);
      const result = checked(claimed, command, handler, returned);
      return { result: result instanceof Promise ? await result : result };
    } catch (error) {
      // The handler has run: a replay after the fix would call it again.
      if (contract.mode === 'atMostOnce' && error instanceof ContractError)
        throw new UnknownOutcomeError(error.message, { cause: error });
      throw error;
    }
  }

  async function inTransaction(
    claimed: StepItem,
    command: Command,
    handler: TaskHandler,
    returned: unknown,
  ): Promise<Handled> {
    const { output, writes, refused } = (returned ?? {}) as InTransaction<unknown>;
    assertTableWrites(handler.contract.type, writes);
    const result = await checked(claimed, command, handler, output);
    return { result, writes, ...(refused && { refused }) };
  }

  function checked(
    claimed: StepItem,
    command: Command,
    { contract }: TaskHandler,
    returned: unknown,
  ): Result | Promise<Result> {
    const output = checkValue(contract.output, returned);
    if (!output.ok)
      throw new ContractError(
        `the handler's result does not fit ${contract.type} version ${contract.version}: ${problemsText(output.problems)}`,
      );
    return keepResult(payloads, claimed, command.tenant, contract.expose, output.value);
  }

  return { dataAt, inputOf, handled };
}
