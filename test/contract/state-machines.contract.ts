/** What every adapter of task tokens and executions does. */
import { beforeAll, expect, test } from 'vitest';
import type { Answers, Executions } from '#core/ports.ts';

export interface StateMachinesUnderTest {
  readonly answers: Answers;
  readonly executions: Executions;
  /** A state machine whose one state waits for its token. */
  readonly stateMachineArn: string;
  /** The token of the state that an execution waits in. */
  readonly token: (executionName: string) => Promise<string>;
  /** Waits until an execution has taken an answer in. */
  readonly settled: (executionName: string) => Promise<void>;
}

let cases = 0;
const freshName = (): string => `run-${Date.now().toString(36)}-${process.pid}-${cases++}`;

/** @param make a deployed state machine, or what stands for one; called once */
export function stateMachinesContract(make: () => Promise<StateMachinesUnderTest>): void {
  let sfn: StateMachinesUnderTest;
  beforeAll(async () => {
    sfn = await make();
  });
  const start = (name: string) =>
    sfn.executions.start(sfn.stateMachineArn, name, '{"runId":"r","execution":1}');

  test('a name starts one execution, which can be looked at', async () => {
    const name = freshName();
    expect(await sfn.executions.describe(sfn.stateMachineArn, name)).toBeUndefined();
    expect(await start(name)).toBe('started');
    expect(await start(name)).toBe('exists');
    expect(await sfn.executions.describe(sfn.stateMachineArn, name)).toEqual({ status: 'RUNNING' });
  });

  test('a token takes one success, and the execution ends with it', async () => {
    const name = freshName();
    await start(name);
    const token = await sfn.token(name);
    expect(await sfn.answers.succeed(token, '{"reservation":"r-1"}')).toBe('accepted');
    await sfn.settled(name);
    expect(await sfn.answers.succeed(token, '{"reservation":"r-2"}')).toBe('refused');
    expect(await sfn.answers.fail(token, 'late', 'late')).toBe('refused');
    const state = await sfn.executions.describe(sfn.stateMachineArn, name);
    expect(state?.status).toBe('SUCCEEDED');
    expect(JSON.parse(state?.output ?? '')).toEqual({ reservation: 'r-1' });
    expect(await start(name)).toBe('exists');
  });

  test('a token takes one failure, and the execution fails with its name and cause', async () => {
    const name = freshName();
    await start(name);
    const token = await sfn.token(name);
    expect(await sfn.answers.fail(token, 'CardDeclined', 'the card was declined')).toBe('accepted');
    await sfn.settled(name);
    expect(await sfn.answers.succeed(token, '{}')).toBe('refused');
    expect(await sfn.executions.describe(sfn.stateMachineArn, name)).toEqual({
      status: 'FAILED',
      error: 'CardDeclined',
      cause: 'the card was declined',
    });
  });

  test('a token that nobody waits with is refused', async () => {
    const token = 'no-such-token';
    expect(await sfn.answers.succeed(token, '{}')).toBe('refused');
    expect(await sfn.answers.fail(token, 'E', 'c')).toBe('refused');
  });
}
