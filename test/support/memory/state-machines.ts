/** Task tokens and executions in memory. Nothing runs: a test says what a state machine would do. */
import type { Answers, ExecutionState, Executions } from '#core/ports.ts';

export interface TokenAnswer {
  readonly token: string;
  /** JSON text, of a success. */
  readonly output?: string;
  readonly error?: string;
  readonly cause?: string;
}

export interface MemoryAnswers extends Answers {
  /** A state waits with this token from now on. */
  open(token: string): void;
  /** The state timed out or its execution ended. */
  close(token: string): void;
  /** What was accepted, in order. */
  readonly accepted: readonly TokenAnswer[];
}

/** @param onAccepted called with each accepted answer */
export function memoryAnswers(onAccepted: (answer: TokenAnswer) => void = () => {}): MemoryAnswers {
  const waiting = new Set<string>();
  const accepted: TokenAnswer[] = [];
  const take = async (answer: TokenAnswer): Promise<'accepted' | 'refused'> => {
    if (!waiting.delete(answer.token)) return 'refused';
    accepted.push(answer);
    onAccepted(answer);
    return 'accepted';
  };
  return {
    accepted,
    open: (token) => void waiting.add(token),
    close: (token) => void waiting.delete(token),
    succeed: (token, output) => take({ token, output }),
    fail: (token, error, cause) => take({ token, error, cause }),
  };
}

export interface StartedExecution {
  readonly stateMachineArn: string;
  readonly name: string;
  readonly input: string;
}

export interface MemoryExecutions extends Executions {
  /** In the order of their starts. */
  readonly started: readonly StartedExecution[];
  /** Ends an execution. */
  end(stateMachineArn: string, name: string, state: ExecutionState): void;
  /** Starts are throttled while this is set. Default false. */
  throttle(on: boolean): void;
}

/** @param onStarted called with each execution as it starts */
export function memoryExecutions(
  onStarted: (execution: StartedExecution) => void = () => {},
): MemoryExecutions {
  const states = new Map<string, ExecutionState>();
  const started: StartedExecution[] = [];
  let throttled = false;
  const idOf = (arn: string, name: string): string => JSON.stringify([arn, name]);
  return {
    started,
    throttle: (on) => {
      throttled = on;
    },
    end: (arn, name, state) => {
      if (!states.has(idOf(arn, name))) throw new Error(`no execution ${name} was started`);
      states.set(idOf(arn, name), state);
    },
    start: async (stateMachineArn, name, input) => {
      if (throttled) return 'throttled';
      if (states.has(idOf(stateMachineArn, name))) return 'exists';
      states.set(idOf(stateMachineArn, name), { status: 'RUNNING' });
      const execution = { stateMachineArn, name, input };
      started.push(execution);
      onStarted(execution);
      return 'started';
    },
    describe: async (arn, name) => states.get(idOf(arn, name)),
  };
}
