/** Step Functions Standard: executions with unique names, states that wait for a token, time-outs, retries, redrives. */
import { DISPATCH_FAILED, type DispatchRequest, STEP_GRACE_SECONDS } from '#core/dispatch-request.ts';
import { executionOrder, taskIdOf } from '#core/items.ts';
import type { AnswerResult, ExecutionState, ExecutionStatus } from '#core/ports.ts';
import type { Trace } from './actors.ts';
import type { Clockwork } from './clockwork.ts';
import type { Faults } from './faults.ts';
import { ORDERED, type Plan, type PlannedStep, type PlannedWorkflow } from './plan.ts';
import type { Random } from './random.ts';

interface Waiting {
  readonly step: PlannedStep;
  token: string;
  entry: number;
  entered: number;
  status: 'waiting' | 'succeeded' | 'failed';
}

export interface Execution {
  readonly name: string;
  readonly workflow: PlannedWorkflow;
  readonly runId: string;
  readonly execution: number;
  status: ExecutionStatus;
  redriveCount: number;
  group: number;
  readonly states: Map<string, Waiting>;
  output: Record<string, unknown>;
  error?: string;
  cause?: string;
}

/** Calls dispatch; `done` says whether Lambda answered without an error. Called at most once. */
export type CallDispatch = (request: DispatchRequest, done: (ok: boolean) => void) => void;

export interface Machine {
  start(workflow: PlannedWorkflow, name: string, input: string): 'started' | 'exists';
  describe(name: string): ExecutionState | undefined;
  succeed(token: string, output: string): AnswerResult;
  fail(token: string, error: string, cause: string): AnswerResult;
  /** The console's buttons. */
  stop(name: string): void;
  redrive(name: string): boolean;
  executions(): readonly Execution[];
}

export interface MachineParts {
  readonly plan: Plan;
  readonly clockwork: Clockwork;
  readonly faults: Faults;
  readonly random: Random;
  readonly trace: Trace | undefined;
  readonly callDispatch: CallDispatch;
  /** A task's failure was accepted, for this order of execution and redrive. */
  readonly onTaskFailed: (taskId: string, execution: number) => void;
  /** An execution has ended: the event that tells of it. */
  readonly onEnd: (execution: Execution) => void;
}

/** Of RunTask: retries of errors in calling dispatch, 1 s doubled, 15 s at most, with full jitter. */
const DISPATCH_RETRIES = 5;
const retryWaitMs = (retries: number, random: Random): number =>
  Math.round(1000 * Math.min(15, 2 ** retries) * random.next());

export function machineOf(parts: MachineParts): Machine {
  const { plan, clockwork, faults, random } = parts;
  const executions = new Map<string, Execution>();
  const tokens = new Map<string, { execution: Execution; state: Waiting }>();
  let issued = 0;
  const tell = (execution: Execution, text: string): void => parts.trace?.(`machine ${execution.name}`, text);

  function enterGroup(execution: Execution): void {
    const group = execution.workflow.groups[execution.group];
    if (group === undefined) {
      execution.output['passed'] = plan.passed;
      end(execution, 'SUCCEEDED');
      return;
    }
    for (const step of group) {
      if (execution.states.get(step.stepKey)?.status === 'succeeded') continue;
      enter(execution, step);
    }
  }

  function enter(execution: Execution, step: PlannedStep): void {
    const state: Waiting = { step, token: newToken(), entry: 0, entered: clockwork.now(), status: 'waiting' };
    execution.states.set(step.stepKey, state);
    attempt(execution, state);
  }

  function newToken(): string {
    issued += 1;
    return `token-${issued}`;
  }

  function attempt(execution: Execution, state: Waiting): void {
    const { step, token, entry } = state;
    tokens.set(token, { execution, state });
    tell(execution, `${step.stepKey} entry ${entry} waits with ${token}`);
    const current = (): boolean =>
      execution.status === 'RUNNING' && state.status === 'waiting' && state.entry === entry;
    clockwork.at(clockwork.now() + (step.timeoutSeconds + STEP_GRACE_SECONDS) * 1000, () => {
      if (current() && execution.states.get(step.stepKey) === state)
        fail(execution, state, 'States.Timeout', 'timed out');
    });
    const request: DispatchRequest = {
      token,
      runId: execution.runId,
      workflow: execution.workflow.name,
      execution: execution.execution,
      redrive: execution.redriveCount,
      entry,
      entered: new Date(state.entered).toISOString(),
      step: step.stepKey,
      task: {
        type: step.type,
        version: 1,
        tries: step.tries,
        ...(ORDERED.includes(step.type) && { orderBy: 'lane' }),
      },
      timeoutSeconds: step.timeoutSeconds,
      input: step.input,
    };
    parts.callDispatch(request, (ok) => {
      if (ok || !current() || plan.cloud === 'local') return;
      if (!retry(execution, state)) fail(execution, state, 'Lambda.Unknown', 'dispatch failed');
    });
  }

  /** The state's Retry: another entry after a while. Its token is taken back at once. */
  function retry(execution: Execution, state: Waiting): boolean {
    const { entry } = state;
    if (entry >= DISPATCH_RETRIES) return false;
    if (!plan.sameToken) state.token = newToken();
    clockwork.at(clockwork.now() + retryWaitMs(entry, random), () => {
      const waits = execution.status === 'RUNNING' && state.status === 'waiting' && state.entry === entry;
      if (!waits || execution.states.get(state.step.stepKey) !== state) return;
      state.entry += 1;
      attempt(execution, state);
    });
    return true;
  }

  function fail(execution: Execution, state: Waiting, error: string, cause: string): void {
    state.status = 'failed';
    tell(execution, `${state.step.stepKey} failed: ${error}`);
    execution.error = error;
    execution.cause = cause;
    end(execution, 'FAILED');
  }

  function end(execution: Execution, status: Exclude<ExecutionStatus, 'RUNNING'>): void {
    execution.status = status;
    tell(execution, `ended ${status}`);
    parts.onEnd(execution);
  }

  /** The state that still waits for this token. */
  function waitingFor(token: string): { execution: Execution; state: Waiting } | undefined {
    const found = tokens.get(token);
    if (!found) return undefined;
    const { execution, state } = found;
    const waits =
      execution.status === 'RUNNING' &&
      state.status === 'waiting' &&
      state.token === token &&
      execution.states.get(state.step.stepKey) === state;
    return waits ? found : undefined;
  }

  function succeed(token: string, output: string): AnswerResult {
    const found = waitingFor(token);
    if (!found) return 'refused';
    const { execution, state } = found;
    state.status = 'succeeded';
    const result = JSON.parse(output) as { status?: string };
    execution.output[state.step.stepKey] = result;
    tell(execution, `${state.step.stepKey} succeeded`);
    const group = execution.workflow.groups[execution.group] ?? [];
    if (group.some(({ stepKey }) => execution.states.get(stepKey)?.status !== 'succeeded')) return 'accepted';
    if (
      group.some(({ stepKey }) => stepKey === execution.workflow.choiceOn && declined(execution, stepKey))
    ) {
      execution.error = 'Declined';
      execution.cause = 'the choice said no';
      end(execution, 'FAILED');
      return 'accepted';
    }
    execution.group += 1;
    clockwork.at(clockwork.now() + random.between(5, 60), () => {
      if (execution.status !== 'RUNNING') return;
      if (faults.strikes('execution timed out') || faults.strikes('execution times out without end'))
        return end(execution, 'TIMED_OUT');
      enterGroup(execution);
    });
    return 'accepted';
  }

  const declined = (execution: Execution, stepKey: string): boolean =>
    (execution.output[stepKey] as { status?: string } | undefined)?.status === 'declined';

  return {
    start(workflow, name, input) {
      if (executions.has(name)) return 'exists';
      const { runId, execution: number } = JSON.parse(input) as { runId: string; execution: number };
      const execution: Execution = {
        name,
        workflow,
        runId,
        execution: number,
        status: 'RUNNING',
        redriveCount: 0,
        group: 0,
        states: new Map(),
        output: {},
      };
      executions.set(name, execution);
      tell(execution, 'started');
      clockwork.at(clockwork.now() + random.between(5, 60), () => {
        if (execution.status === 'RUNNING') enterGroup(execution);
      });
      return 'started';
    },
    describe(name) {
      const execution = executions.get(name);
      if (execution === undefined) return undefined;
      const { status, error, cause } = execution;
      return {
        status,
        ...(status === 'SUCCEEDED' ? { output: JSON.stringify(execution.output) } : {}),
        ...(error === undefined ? {} : { error }),
        ...(cause === undefined ? {} : { cause }),
      };
    },
    succeed,
    fail(token, error, cause) {
      const found = waitingFor(token);
      if (!found) return 'refused';
      const { execution, state } = found;
      if (error.startsWith('Task'))
        parts.onTaskFailed(
          taskIdOf(execution.runId, state.step.stepKey),
          executionOrder(execution.execution, execution.redriveCount),
        );
      if (error !== DISPATCH_FAILED || !retry(execution, state)) fail(execution, state, error, cause);
      return 'accepted';
    },
    stop(name) {
      const execution = executions.get(name);
      if (execution?.status === 'RUNNING') end(execution, 'ABORTED');
    },
    redrive(name) {
      const execution = executions.get(name);
      if (!execution || execution.status === 'RUNNING' || execution.status === 'SUCCEEDED') return false;
      if (plan.cloud === 'local') return false;
      execution.status = 'RUNNING';
      execution.redriveCount += 1;
      delete execution.cause;
      tell(execution, 'redriven from the console');
      const choice = execution.workflow.choiceOn;
      // A Fail state is entered again, and fails again.
      if (declined(execution, choice)) end(execution, 'FAILED');
      else enterGroup(execution);
      return true;
    },
    executions: () => [...executions.values()],
  };
}
