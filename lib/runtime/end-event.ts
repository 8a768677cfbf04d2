/** "Step Functions Execution Status Change" of EventBridge, as close needs it. */
import type { EndedExecution } from '#core/close.ts';
import { parseExecutionName } from '#core/items.ts';
import type { ExecutionState, Executions, Log } from '#core/ports.ts';

export interface EndDetail {
  readonly stateMachineArn: string;
  readonly name: string;
  readonly status: ExecutionState['status'] | 'PENDING_REDRIVE';
  /** Missing where it is too large for an event. */
  readonly output?: string | null;
  readonly error?: string | null;
  readonly cause?: string | null;
}

const isEnded = (state: ExecutionState): state is EndedExecution => state.status !== 'RUNNING';

/**
 * What ended. Events come late and in any order: a failure is asked for again, since the execution may have been
 * redriven; a success with its output is final.
 */
export async function endOfExecution(
  detail: EndDetail,
  executions: Executions,
  log: Log,
): Promise<{ runId: string; execution: number; state: EndedExecution } | undefined> {
  const named = parseExecutionName(detail?.name ?? '');
  if (named === undefined) {
    log.warn('an execution ended that is no run of ours');
    return undefined;
  }
  if (detail.status === 'SUCCEEDED' && typeof detail.output === 'string')
    return { ...named, state: { status: 'SUCCEEDED', output: detail.output } };
  const state = await executions.describe(detail.stateMachineArn, detail.name);
  if (state === undefined || !isEnded(state)) {
    log.info('execution runs again', { run: named.runId });
    return undefined;
  }
  return { ...named, state };
}
