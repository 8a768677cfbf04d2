import { Duration, aws_stepfunctions as sfn, aws_stepfunctions_tasks as tasks } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { describe, expect, it } from 'vitest';
import { DeadLetteredQueue } from '#constructs/dead-lettered-queue.ts';
import { RunTask, type RunTaskProps } from '#constructs/run-task.ts';
import { fromInput, fromStep } from '#core/mapping.ts';
import { stageFrom } from '#stacks/stages.ts';
import { chargePayment, reserveStock, shipOrder } from '#workflows/order/contract.ts';
import { buildPipeline, type SmallPipeline } from './small-pipeline.ts';

const reserve = (scope: Construct, id = 'Reserve', more: Partial<RunTaskProps> = {}): RunTask =>
  new RunTask(scope, id, { task: reserveStock, input: fromInput(), ...more });
const charge = (scope: Construct, more: Partial<RunTaskProps> = {}): RunTask =>
  new RunTask(scope, 'Charge', { task: chargePayment, input: fromInput(), ...more });

/** The message of the synth that must fail, or `accepted`. */
function verdictOn(parts: SmallPipeline, change?: (built: ReturnType<typeof buildPipeline>) => void): string {
  const built = buildPipeline(parts);
  change?.(built);
  try {
    built.app.synth();
    return 'accepted';
  } catch (error) {
    return (error as Error).message;
  }
}

const accepted: SmallPipeline = { states: (scope) => reserve(scope).next(charge(scope)) };

describe('synth accepts', () => {
  it.each<[string, SmallPipeline]>([
    ['two steps in a row', accepted],
    [
      'the shortest time-out that fits',
      { states: (scope) => reserve(scope, 'R', { timeout: Duration.seconds(150) }) },
    ],
    [
      'the output of an earlier step',
      {
        states: (scope) =>
          reserve(scope).next(charge(scope, { input: { id: fromStep('Reserve', 'reservationId') } })),
      },
    ],
    [
      'the output of a step in a branch before',
      {
        states: (scope) =>
          new sfn.Parallel(scope, 'Both')
            .branch(reserve(scope))
            .branch(new sfn.Pass(scope, 'Nothing'))
            .next(charge(scope, { input: fromStep('Reserve') })),
      },
    ],
    ['the same task in two states', { states: (scope) => reserve(scope, 'R1').next(reserve(scope, 'R2')) }],
    [
      'a loop without a RunTask in it',
      {
        states: (scope) => {
          const wait = new sfn.Wait(scope, 'Wait', { time: sfn.WaitTime.duration(Duration.seconds(5)) });
          return reserve(scope)
            .next(wait)
            .next(
              new sfn.Choice(scope, 'Again')
                .when(sfn.Condition.isPresent('$.again'), wait)
                .otherwise(charge(scope)),
            );
        },
      },
    ],
  ])('%s', (_, parts) => {
    expect(verdictOn(parts)).toBe('accepted');
  });
});

describe('H21 what steps expose together fits into a state', () => {
  const inARow = (count: number, task: RunTaskProps['task']): SmallPipeline => ({
    states: (scope) => {
      const steps = Array.from(
        { length: count },
        (_, n) => new RunTask(scope, `Step${n}`, { task, input: fromInput() }),
      );
      return sfn.Chain.custom(
        steps[0] as RunTask,
        [steps.reduce((before, step) => before.next(step) && step)],
        steps.at(-1) as RunTask,
      );
    },
  });

  it.each([
    ['30 steps that expose fields', inARow(30, chargePayment)],
    ['more steps that expose nothing', inARow(35, reserveStock)],
  ])('synth accepts %s', (_what, parts) => {
    expect(verdictOn(parts)).toBe('accepted');
  });

  it('synth refuses one more', () => {
    expect(verdictOn(inARow(31, chargePayment))).toContain(
      '31 steps expose fields, each up to 8192 bytes; allowed: 30, as a state holds 262144 bytes',
    );
  });
});

describe('H11 synth refuses a waiting state without a time-out', () => {
  it.each([
    'arn:aws:states:::lambda:invoke.waitForTaskToken',
    'arn:aws:states:::states:startExecution.sync:2',
  ])('%s', (Resource) => {
    const verdict = verdictOn({
      states: (scope) =>
        reserve(scope).next(
          new sfn.CustomState(scope, 'Forever', { stateJson: { Type: 'Task', Resource, Parameters: {} } }),
        ),
    });
    expect(verdict).toContain('[Small/Workflow] state "Forever" waits without a time-out');
    expect(verdict).toContain('Give it "taskTimeout"');
  });

  it('also when its time-out is a path, or it hides in a branch', () => {
    const hidden = (more: object) =>
      verdictOn({
        states: (scope) =>
          new sfn.Parallel(scope, 'Both').branch(
            new sfn.CustomState(scope, 'Forever', {
              stateJson: {
                Type: 'Task',
                Resource: 'arn:aws:states:::sqs:sendMessage.waitForTaskToken',
                ...more,
              },
            }),
          ),
      });
    expect(hidden({ TimeoutSecondsPath: '$.t' })).toContain('state "Forever" waits without a time-out');
    expect(hidden({ TimeoutSeconds: 60 })).toBe('accepted');
  });

  it('and lets a state that does not wait go without', () => {
    const verdict = verdictOn({
      states: (scope) =>
        new tasks.CallAwsService(scope, 'Call', {
          service: 'sqs',
          action: 'listQueues',
          iamResources: ['*'],
        }),
    });
    expect(verdict).toBe('accepted');
  });
});

describe('synth refuses, naming construct and fix', () => {
  it.each<[string, SmallPipeline, string[]]>([
    [
      "a step time-out below 2 x the pool's visibility + 30 s",
      { states: (scope) => reserve(scope, 'Reserve', { timeout: Duration.seconds(149) }) },
      [
        "[Small/Workflow/Reserve] the step's time-out is 149 s, below 150 s",
        'pool Small/Pool',
        'Raise "timeout"',
      ],
    ],
    [
      'the same when the pool is slow',
      {
        states: (scope) => reserve(scope),
        pools: { Pool: { tasks: [reserveStock], timeout: Duration.seconds(60) } },
      },
      ["the step's time-out is 600 s, below 750 s", '[Small/Workflow/Reserve]'],
    ],
    [
      "visibility below 6 x the function's time-out",
      {
        ...accepted,
        pools: { Pool: { tasks: [reserveStock, chargePayment], visibilityTimeout: Duration.seconds(59) } },
      },
      ['[Small/Pool/Feed]', 'visibility time-out is 59 s, below 6 times', 'Set it to 60 s or more'],
    ],
    [
      'dead letters that are kept no longer than the queue',
      {
        ...accepted,
        pools: { Pool: { tasks: [reserveStock, chargePayment], retention: Duration.days(14) } },
      },
      ['[Small/Pool/Work] dead letters are kept for 1209600 s', 'shorten "retention"'],
    ],
    [
      'a task that no pool subscribes to',
      { ...accepted, pools: { Pool: { tasks: [reserveStock] } } },
      [
        '[Small/Workflow/Charge] no worker pool subscribes to payment.card.charge',
        'Add the task to "tasks" of a WorkerPool',
      ],
    ],
    [
      'two pools for one command',
      {
        ...accepted,
        pools: { One: { tasks: [reserveStock, chargePayment] }, Two: { tasks: [chargePayment] } },
      },
      [
        '[Small/One] command type payment.card.charge is handled by pool Small/Two as well',
        '[Small/Two] command type payment.card.charge is handled by pool Small/One as well',
        'list the task in one pool only',
      ],
    ],
    [
      'a task twice in one pool',
      { ...accepted, pools: { Pool: { tasks: [reserveStock, chargePayment, chargePayment] } } },
      ['[Small/Pool] command type payment.card.charge is handled by this pool twice'],
    ],
    [
      'a pool without tasks',
      { ...accepted, pools: { Pool: { tasks: [reserveStock, chargePayment] }, Idle: { tasks: [] } } },
      ['[Small/Idle] the pool has no tasks'],
    ],
    [
      'a state name that makes a bad step key',
      { states: (scope) => reserve(scope, 'Reserve the stock') },
      ['[Small/Workflow/Reserve the stock] "Reserve the stock" cannot be a step key', 'set "stepKey"'],
    ],
    [
      'one step key twice',
      {
        states: (scope) =>
          reserve(scope, 'R1', { stepKey: 'R' }).next(reserve(scope, 'R2', { stepKey: 'R' })),
      },
      ['has the step key "R" of another step', 'Small/Workflow/R1'],
    ],
    [
      'a RunTask in a Map',
      {
        states: (scope) =>
          new sfn.Map(scope, 'Each', { itemsPath: '$.lines' }).itemProcessor(
            reserve(scope).next(charge(scope)),
          ),
      },
      ['RunTask Small/Workflow/Reserve stands in a Map', 'RunTask Small/Workflow/Charge stands in a Map'],
    ],
    [
      'a RunTask in a cycle',
      {
        states: (scope) => {
          const first = reserve(scope);
          return first.next(
            new sfn.Choice(scope, 'Again')
              .when(sfn.Condition.isPresent('$.again'), first)
              .otherwise(new sfn.Succeed(scope, 'Done')),
          );
        },
      },
      ['RunTask Small/Workflow/Reserve stands in a cycle', 'Give each entry a state of its own'],
    ],
    [
      'a RunTask in a branch that is entered again by a catch',
      {
        states: (scope) => {
          const both = new sfn.Parallel(scope, 'Both').branch(reserve(scope));
          const wait = new sfn.Wait(scope, 'Wait', { time: sfn.WaitTime.duration(Duration.seconds(5)) });
          both.addCatch(wait.next(both));
          return both;
        },
      },
      ['RunTask Small/Workflow/Reserve stands in a cycle'],
    ],
    [
      'input from a step that does not exist',
      { states: (scope) => reserve(scope).next(charge(scope, { input: { a: [fromStep('Reserv', 'id')] } })) },
      [
        'RunTask Small/Workflow/Charge takes input from step "Reserv", which the workflow does not have',
        'its steps are Reserve, Charge',
      ],
    ],
    [
      'input from a later step',
      {
        states: (scope) => reserve(scope, 'Reserve', { input: fromStep('Charge') }).next(charge(scope)),
      },
      ['RunTask Small/Workflow/Reserve takes input from step "Charge", which never comes before it'],
    ],
    [
      'a task that the contract does not list',
      {
        states: (scope) =>
          reserve(scope).next(new RunTask(scope, 'Ship', { task: shipOrder, input: fromInput() })),
        pools: { Pool: { tasks: [reserveStock, shipOrder] } },
      },
      ['[Small/Workflow/Ship] task shipping.parcel.ship is not in the contract of workflow small'],
    ],
    [
      'a literal that would be evaluated',
      { states: (scope) => reserve(scope, 'Reserve', { input: { note: '{% $states.input %}' } }) },
      ['[Small/Workflow/Reserve] a literal in "input" starts with "{%"'],
    ],
  ])('%s', (_, parts, expected) => {
    const verdict = verdictOn(parts);
    for (const text of expected) expect(verdict).toContain(text);
  });

  const inLine = { ...chargePayment, orderBy: 'orderId' };
  const charged = (scope: Construct) =>
    new RunTask(scope, 'Charge', { task: inLine, input: { orderId: fromInput('orderId') } });
  const ordering = (more: Partial<SmallPipeline>): SmallPipeline => ({
    states: charged,
    tasks: [inLine],
    ...more,
  });

  it.each<[string, SmallPipeline, string]>([
    [
      'a task with an ordering key in a pool without order',
      ordering({ pools: { Pool: { tasks: [inLine] } } }),
      '[Small/Pool] task payment.card.charge is ordered by a key and its pool is not: set "ordered: true" on the pool',
    ],
    [
      'a task without an ordering key in an ordered pool',
      ordering({ pools: { Pool: { tasks: [inLine, reserveStock], ordered: true } } }),
      '[Small/Pool] the pool is ordered and task inventory.stock.reserve has no "orderBy": name the input field',
    ],
    [
      'several messages a batch in an ordered pool',
      ordering({ pools: { Pool: { tasks: [inLine], ordered: true, batchSize: 2 } } }),
      '[Small/Pool] batchSize is 2 in an ordered pool; allowed: 1',
    ],
  ])('%s', (_, parts, expected) => {
    expect(verdictOn(parts)).toContain(expected);
  });

  it('and accepts an ordered pool whose tasks all have a key', () => {
    const pools = { Pool: { tasks: [inLine], ordered: true, batchSize: 1 } };
    expect(verdictOn(ordering({ pools }))).toBe('accepted');
  });

  it('fewer than three receives', () => {
    const verdict = verdictOn(accepted, ({ stack }) => {
      new DeadLetteredQueue(stack, 'Hasty', {
        stage: stageFrom({ stage: 'dev', version: 'test' }),
        visibilityTimeout: Duration.seconds(60),
        maxReceiveCount: 2,
      });
    });
    expect(verdict).toContain('[Small/Hasty] maxReceiveCount is 2');
  });

  it('a RunTask outside a workflow', () => {
    const { stack } = buildPipeline(accepted);
    expect(() => reserve(stack, 'Lost')).toThrow('Small/Lost: a RunTask stands outside any Workflow');
  });

  it('a pool whose file is missing', () => {
    expect(() =>
      buildPipeline({ ...accepted, pools: { Pool: { tasks: [reserveStock], entry: 'worker-nobody' } } }),
    ).toThrow('Small/Pool/Worker: there is no lambdas/worker-nobody.ts');
  });
});
