import {
  DescribeExecutionCommand,
  type DescribeExecutionCommandOutput,
  GetExecutionHistoryCommand,
  RedriveExecutionCommand,
  SendTaskFailureCommand,
  SendTaskSuccessCommand,
  StartExecutionCommand,
  StopExecutionCommand,
} from '@aws-sdk/client-sfn';
import { until } from '#test/cloud/until.ts';
import type { Bench } from './bench.ts';
import { type Check, every, type Finding, same } from './checks.ts';

interface Handed {
  readonly token: string;
  readonly retry: number;
  readonly entered: string;
}

/** A machine whose one state hands its token to a queue and waits, in JSONata as RunTask does. */
async function waiting(bench: Bench, more: object = {}) {
  const { sfn } = bench.system;
  const tokens = await bench.queue('tokens');
  const arn = await bench.machine('waits', {
    Wait: {
      Type: 'Task',
      QueryLanguage: 'JSONata',
      Resource: 'arn:aws:states:::sqs:sendMessage.waitForTaskToken',
      Arguments: {
        QueueUrl: tokens.url,
        MessageBody: {
          token: '{% $states.context.Task.Token %}',
          retry: '{% $states.context.State.RetryCount %}',
          entered: '{% $states.context.State.EnteredTime %}',
        },
      },
      Output: "{% $merge([$states.input, {'Wait': $states.result}]) %}",
      TimeoutSeconds: 60,
      End: true,
      ...more,
    },
  });
  const start = async (input = '{"a":1}', name = bench.fresh('run').slice(0, 80)) =>
    (await sfn.send(new StartExecutionCommand({ stateMachineArn: arn, input, name }))).executionArn ?? '';
  const token = () => bench.taken(tokens, (body) => JSON.parse(body) as Handed);
  const ended = (executionArn: string): Promise<DescribeExecutionCommandOutput> =>
    until('the execution has ended', async () => {
      const now = await sfn.send(new DescribeExecutionCommand({ executionArn }));
      return now.status === 'RUNNING' ? undefined : now;
    });
  return { arn, start, token, ended, tokens };
}

const succeed = ({ system }: Bench, taskToken: string, output = '{"b":2}') =>
  system.sfn.send(new SendTaskSuccessCommand({ taskToken, output }));

/** The name of the error, or `taken`. */
const answerTo = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'taken',
    (error: Error) => error.name,
  );

const refusedAs = (answer: string, names: readonly string[]): Finding =>
  names.includes(answer) ? 'works' : { differs: `${answer} instead of ${names.join(' or ')}` };

export const machines: readonly Check[] = [
  {
    id: 'states.token-success',
    need: 'a token’s answer becomes the result of its state, merged under the step’s key',
    look: async (bench) => {
      const { start, token, ended } = await waiting(bench);
      const execution = await start();
      await succeed(bench, (await token()).token);
      return same(JSON.parse((await ended(execution)).output ?? 'null'), { a: 1, Wait: { b: 2 } });
    },
  },
  {
    id: 'states.token-failure',
    need: 'a failure by token fails the execution with its own error name and cause',
    look: async (bench) => {
      const { start, token, ended } = await waiting(bench);
      const execution = await start();
      const { token: taskToken } = await token();
      await bench.system.sfn.send(
        new SendTaskFailureCommand({ taskToken, error: 'TaskFailed', cause: '{"why":1}' }),
      );
      const { status, error, cause } = await ended(execution);
      return same([status, error, cause], ['FAILED', 'TaskFailed', '{"why":1}']);
    },
  },
  {
    id: 'states.no-output-of-a-failure',
    need: 'a failed execution has no output',
    look: async (bench) => {
      const { start, token, ended } = await waiting(bench);
      const execution = await start();
      const { token: taskToken } = await token();
      await bench.system.sfn.send(new SendTaskFailureCommand({ taskToken, error: 'E', cause: 'c' }));
      return same((await ended(execution)).output, undefined);
    },
  },
  {
    id: 'states.second-answer',
    need: 'a second answer to a token is refused, and changes nothing',
    look: async (bench) => {
      const { start, token, ended } = await waiting(bench);
      const execution = await start();
      const { token: taskToken } = await token();
      await succeed(bench, taskToken);
      await ended(execution);
      return refusedAs(await answerTo(succeed(bench, taskToken, '{"b":3}')), [
        'TaskTimedOut',
        'TaskDoesNotExist',
        'InvalidToken',
      ]);
    },
  },
  {
    id: 'states.garbage-token',
    need: 'an answer to no token at all is refused by a name that we know',
    look: async (bench) =>
      refusedAs(await answerTo(succeed(bench, 'no-token')), ['InvalidToken', 'TaskDoesNotExist']),
  },
  {
    id: 'states.time-out',
    need: 'a waiting state ends as States.Timeout after its TimeoutSeconds, and a late answer is refused',
    look: async (bench) => {
      const { start, token, ended } = await waiting(bench, { TimeoutSeconds: 2 });
      const begun = Date.now();
      const execution = await start();
      const { token: taskToken } = await token();
      const { error } = await ended(execution);
      return every(
        same(error, 'States.Timeout'),
        Date.now() - begun >= 1_900 ? 'works' : { differs: 'it timed out too early' },
        refusedAs(await answerTo(succeed(bench, taskToken)), [
          'TaskTimedOut',
          'TaskDoesNotExist',
          'InvalidToken',
        ]),
      );
    },
  },
  {
    id: 'states.answer-after-stop',
    need: 'an answer to a stopped execution is refused',
    look: async (bench) => {
      const { start, token } = await waiting(bench);
      const executionArn = await start();
      const { token: taskToken } = await token();
      await bench.system.sfn.send(
        new StopExecutionCommand({ executionArn, error: 'Stopped', cause: 'by hand' }),
      );
      return refusedAs(await answerTo(succeed(bench, taskToken)), [
        'TaskTimedOut',
        'TaskDoesNotExist',
        'InvalidToken',
      ]);
    },
  },
  {
    id: 'states.retry-count',
    need: 'a retried state counts its retries from 0: entries of a step are ordered by that',
    look: async (bench) => {
      const Retry = [{ ErrorEquals: ['Again'], IntervalSeconds: 1, MaxAttempts: 1, BackoffRate: 1 }];
      const { start, token } = await waiting(bench, { Retry });
      const executionArn = await start();
      const first = await token();
      await bench.system.sfn.send(new SendTaskFailureCommand({ taskToken: first.token, error: 'Again' }));
      const second = await token();
      await bench.system.sfn.send(new StopExecutionCommand({ executionArn }));
      return same([first.retry, second.retry], [0, 1]);
    },
  },
  {
    id: 'states.token-of-a-retry',
    need: 'a retried state has a new token',
    look: async (bench) => {
      const Retry = [{ ErrorEquals: ['Again'], IntervalSeconds: 1, MaxAttempts: 1, BackoffRate: 1 }];
      const { start, token } = await waiting(bench, { Retry });
      const executionArn = await start();
      const first = await token();
      await bench.system.sfn.send(new SendTaskFailureCommand({ taskToken: first.token, error: 'Again' }));
      const second = await token();
      await bench.system.sfn.send(new StopExecutionCommand({ executionArn }));
      return first.token === second.token ? { differs: 'the same token again' } : 'works';
    },
  },
  {
    id: 'states.name-of-a-running-execution',
    need: 'starting a running execution again, with the same name and input, is a normal answer',
    look: async (bench) => {
      const { start } = await waiting(bench);
      const name = bench.fresh('twice').slice(0, 80);
      const executionArn = await start('{"a":1}', name);
      const again = await answerTo(start('{"a":1}', name));
      await bench.system.sfn.send(new StopExecutionCommand({ executionArn }));
      return refusedAs(again, ['taken']);
    },
  },
  {
    id: 'states.name-of-a-closed-execution',
    need: 'the name of a closed execution stays taken',
    look: async (bench) => {
      const { start, ended } = await waiting(bench);
      const name = bench.fresh('closed').slice(0, 80);
      const executionArn = await start('{"a":1}', name);
      await bench.system.sfn.send(new StopExecutionCommand({ executionArn }));
      await ended(executionArn);
      return refusedAs(await answerTo(start('{"a":1}', name)), ['ExecutionAlreadyExists']);
    },
  },
  {
    id: 'states.history',
    need: 'the history tells which answers were taken, with their output',
    look: async (bench) => {
      const { start, token, ended } = await waiting(bench);
      const executionArn = await start();
      await succeed(bench, (await token()).token);
      await ended(executionArn);
      const { events = [] } = await bench.system.sfn.send(new GetExecutionHistoryCommand({ executionArn }));
      const outputs = events.flatMap(
        ({ taskSucceededEventDetails }) => taskSucceededEventDetails?.output ?? [],
      );
      return same(
        outputs.map((output) => JSON.parse(output)),
        [{ b: 2 }],
      );
    },
  },
  {
    id: 'states.redrive',
    need: 'a failed execution can be redriven from the console: its steps are entered anew',
    look: async (bench) => {
      const { start, token, ended } = await waiting(bench);
      const executionArn = await start();
      const { token: taskToken } = await token();
      await bench.system.sfn.send(new SendTaskFailureCommand({ taskToken, error: 'E' }));
      await ended(executionArn);
      await bench.system.sfn.send(new RedriveExecutionCommand({ executionArn }));
      await succeed(bench, (await token()).token);
      const end = await until('the redriven execution has succeeded', async () => {
        const now = await bench.system.sfn.send(new DescribeExecutionCommand({ executionArn }));
        return now.status === 'SUCCEEDED' ? now : undefined;
      });
      return same(end.redriveCount, 1);
    },
  },
];
