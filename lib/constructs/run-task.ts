import { Aws, Duration, aws_iam as iam, aws_stepfunctions as sfn } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { TaskContract } from '#core/contract.ts';
import { DISPATCH_FAILED, type DispatchRequest, STEP_GRACE_SECONDS } from '#core/dispatch-request.ts';
import { type Mapping, referencesOf } from '#core/mapping.ts';
import { assertStepKey } from '#core/names.ts';
import type { Dispatch } from './dispatch.ts';
import { scopeOf } from './workflow-scope.ts';

export interface RunTaskProps {
  readonly task: TaskContract;
  /** Where the task's input comes from: references to the run's input and to earlier steps, and literals. */
  readonly input: Mapping;
  /** Longest time from entering the step to its outcome, queueing and retries included. Default: the contract's. */
  readonly timeout?: Duration;
  /** Part of the task's id, the same on each resume. Default: the state's name. */
  readonly stepKey?: string;
  /** Default: the construct's id. */
  readonly stateName?: string;
}

/**
 * Errors of calling dispatch. What a task does wrong comes by its token and is never retried here: the queue alone
 * owns a task's tries.
 */
const DISPATCH_ERRORS = [
  DISPATCH_FAILED,
  'Lambda.ServiceException',
  'Lambda.AWSLambdaException',
  'Lambda.SdkClientException',
  'Lambda.ClientExecutionTimeoutException',
  'Lambda.TooManyRequestsException',
  'Lambda.Unknown',
];
const DISPATCH_RETRIES = 5;

/** Two rounds of visibility must fit into a step, so that a crashed try gets another. */
const VISIBILITY_ROUNDS = 2;
const QUEUE_MARGIN_SECONDS = 30;

type Templated<T> = { readonly [K in keyof T]: T[K] | string };

/**
 * A state that hands a task to its worker pool and waits for the outcome. The fields that the contract exposes land
 * under the step's key: `$.<stepKey>.<field>`. Chains like any other state, in JSONPath and JSONata machines.
 * @example new RunTask(scope, 'ReserveStock', { task: reserveStock, input: { orderId: fromInput('orderId') } })
 */
export class RunTask extends sfn.TaskStateBase {
  readonly stepKey: string;
  readonly task: TaskContract;
  protected readonly taskMetrics?: sfn.TaskMetricsConfig;
  protected readonly taskPolicies: iam.PolicyStatement[];
  readonly #dispatch: Dispatch;
  readonly #request: Templated<DispatchRequest>;

  constructor(scope: Construct, id: string, props: RunTaskProps) {
    const stateName = props.stateName ?? id;
    const stepKey = props.stepKey ?? stateName;
    const timeout = props.timeout ?? Duration.seconds(props.task.timeoutSeconds);
    const timeoutSeconds = timeout.toSeconds();
    super(scope, id, {
      stateName,
      comment: props.task.type,
      queryLanguage: sfn.QueryLanguage.JSONATA,
      outputs: `{% $merge([$states.input, {'${stepKey}': $states.result}]) %}`,
      taskTimeout: sfn.Timeout.duration(Duration.seconds(timeoutSeconds + STEP_GRACE_SECONDS)),
    });
    const { contract, dispatch, steps } = scopeOf(this);
    this.stepKey = stepKey;
    this.task = props.task;
    this.#dispatch = dispatch;
    this.taskPolicies = [
      new iam.PolicyStatement({
        actions: ['lambda:InvokeFunction'],
        resources: [dispatch.fn.functionArn],
      }),
    ];
    this.#request = {
      token: '{% $states.context.Task.Token %}',
      runId: '{% $states.context.Execution.Input.runId %}',
      workflow: contract.name,
      execution: '{% $states.context.Execution.Input.execution %}',
      redrive:
        '{% $exists($states.context.Execution.RedriveCount) ? $states.context.Execution.RedriveCount : 0 %}',
      entry: '{% $states.context.State.RetryCount %}',
      entered: '{% $states.context.State.EnteredTime %}',
      step: stepKey,
      task: {
        type: props.task.type,
        version: props.task.version,
        tries: props.task.retry.tries,
        ...(props.task.orderBy !== undefined && { orderBy: props.task.orderBy }),
      },
      timeoutSeconds,
      input: props.input,
    };
    this.addRetry({
      errors: DISPATCH_ERRORS,
      interval: Duration.seconds(1),
      maxAttempts: DISPATCH_RETRIES,
      backoffRate: 2,
      maxDelay: Duration.seconds(15),
      jitterStrategy: sfn.JitterType.FULL,
    });
    steps.push({
      path: this.node.path,
      stepKey,
      stateName,
      references: referencesOf(props.input),
      exposes: props.task.expose.length > 0,
    });
    this.node.addValidation({
      validate: () => [
        ...stepKeyProblem(stepKey),
        ...(contract.tasks.some(({ type }) => type === props.task.type)
          ? []
          : [
              `task ${props.task.type} is not in the contract of workflow ${contract.name}: add it to "tasks" of defineWorkflow`,
            ]),
        ...this.#poolProblem(timeoutSeconds),
        ...literalProblems(props.input),
      ],
    });
  }

  #poolProblem(timeoutSeconds: number): string[] {
    const [pool] = this.#dispatch.commands.poolsFor(this.task.type);
    if (!pool)
      return [
        `no worker pool subscribes to ${this.task.type}: its commands would reach nobody. Add the task to "tasks" of a WorkerPool`,
      ];
    const visibility = pool.work.visibilityTimeout.toSeconds();
    const least = VISIBILITY_ROUNDS * visibility + QUEUE_MARGIN_SECONDS;
    return timeoutSeconds >= least
      ? []
      : [
          `the step's time-out is ${timeoutSeconds} s, below ${least} s (${VISIBILITY_ROUNDS} x the visibility of ${visibility} s of pool ${pool.node.path} + ${QUEUE_MARGIN_SECONDS} s): a crashed try could not be repeated in time. Raise "timeout" or the contract's timeoutSeconds, or shorten the pool's time-out`,
        ];
  }

  /** @internal */
  protected _renderTask(): object {
    return {
      Resource: `arn:${Aws.PARTITION}:states:::lambda:invoke.waitForTaskToken`,
      Arguments: { FunctionName: this.#dispatch.fn.functionArn, Payload: this.#request },
    };
  }
}

function stepKeyProblem(stepKey: string): string[] {
  try {
    assertStepKey(stepKey);
    return [];
  } catch (error) {
    return [`${(error as Error).message}. Rename the state or set "stepKey"`];
  }
}

/** Step Functions would evaluate such a literal as an expression. */
function literalProblems(mapping: Mapping): string[] {
  const text = JSON.stringify(mapping);
  return text.includes('"{%')
    ? ['a literal in "input" starts with "{%", which Step Functions takes for an expression: reword it']
    : [];
}
