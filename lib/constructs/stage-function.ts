import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  Duration,
  type aws_ec2 as ec2,
  aws_iam as iam,
  aws_lambda as lambda,
  aws_logs as logs,
} from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { ENV } from '#core/env-names.ts';
import type { Access } from './access.ts';
import { bundled, ROOT } from './bundle.ts';
import type { Stage } from './stage.ts';

export interface StageFunctionProps {
  readonly stage: Stage;
  /** File in lambdas/ without its ending. It exports `handler`. */
  readonly entry: string;
  /** What it may touch: grants and environment in one. Default: nothing. */
  readonly uses?: readonly Access[];
  /** Default 10 s. */
  readonly timeout?: Duration;
  /** MB. Default 512. */
  readonly memorySize?: number;
  /** Default arm64: about a fifth cheaper. */
  readonly architecture?: lambda.Architecture;
  /** Further variables. Default: none. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Default: outside any VPC. */
  readonly vpc?: ec2.IVpc | ec2.Vpc;
  /** Default: private subnets with egress. Read with `vpc` only. */
  readonly vpcSubnets?: ec2.SubnetSelection;
}

/**
 * A bundled function of lambdas/: one ES module with its SDK clients inside, a role that starts empty (its own log
 * group apart), and JSON logs that are kept for a stated time.
 */
export class StageFunction extends Construct {
  readonly fn: lambda.Function;

  constructor(scope: Construct, id: string, props: StageFunctionProps) {
    super(scope, id);
    const { stage } = props;
    const entry = join(ROOT, 'lambdas', `${props.entry}.ts`);
    if (!existsSync(entry))
      throw new Error(
        `${this.node.path}: there is no lambdas/${props.entry}.ts; write it, or name another file in "entry"`,
      );
    const logGroup = new logs.LogGroup(this, 'Logs', {
      retention: stage.logRetention,
      removalPolicy: stage.removalPolicy,
    });
    const role = new iam.Role(this, 'Role', {
      assumedBy: new iam.ServicePrincipal('lambda.amazonaws.com'),
      ...(props.vpc && {
        managedPolicies: [
          iam.ManagedPolicy.fromAwsManagedPolicyName('service-role/AWSLambdaENIManagementAccess'),
        ],
      }),
    });
    iam.Grant.addToPrincipal({
      grantee: role,
      actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
      resourceArns: [logGroup.logGroupArn],
    });
    this.fn = new lambda.Function(this, 'Function', {
      code: bundled(entry),
      handler: 'index.handler',
      runtime: lambda.Runtime.NODEJS_24_X,
      architecture: props.architecture ?? lambda.Architecture.ARM_64,
      memorySize: props.memorySize ?? 512,
      timeout: props.timeout ?? Duration.seconds(10),
      role,
      logGroup,
      loggingFormat: lambda.LoggingFormat.JSON,
      environment: {
        ...props.environment,
        [ENV.logLevel]: stage.logLevel,
        NODE_OPTIONS: '--enable-source-maps',
      },
      ...(props.vpc && { vpc: props.vpc as ec2.IVpc }),
      ...(props.vpcSubnets && { vpcSubnets: props.vpcSubnets }),
    });
    for (const use of props.uses ?? []) use(this.fn);
  }
}
