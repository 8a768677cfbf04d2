import {
  aws_apigatewayv2 as api,
  aws_apigateway as apigateway,
  aws_apigatewayv2_authorizers as authorizers,
  aws_apigatewayv2_integrations as integrations,
  type aws_lambda as lambda,
  aws_logs as logs,
  Stack,
} from 'aws-cdk-lib';
import { Construct } from 'constructs';
import type { Stage } from './stage.ts';

export interface OrchestratorApiProps {
  readonly stage: Stage;
  readonly trigger: lambda.IFunction;
  readonly status: lambda.IFunction;
  /** Who may call. Default: whoever IAM allows execute-api:Invoke. */
  readonly authorizer?: api.IHttpRouteAuthorizer;
  /** Requests per second. Default 100, the double of it as burst. */
  readonly rateLimit?: number;
}

const { GET, POST } = api.HttpMethod;
/** What an access log line tells: who and what, never a body or a query. */
const LOGGED = {
  requestId: '$context.requestId',
  time: '$context.requestTime',
  method: '$context.httpMethod',
  route: '$context.routeKey',
  status: '$context.status',
  caller: '$context.identity.userArn',
  sourceIp: '$context.identity.sourceIp',
  length: '$context.responseLength',
  latencyMs: '$context.responseLatency',
  error: '$context.error.message',
};

/** The HTTP door: starts runs and shows them. */
export class OrchestratorApi extends Construct {
  readonly http: api.HttpApi;

  constructor(scope: Construct, id: string, props: OrchestratorApiProps) {
    super(scope, id);
    const rateLimit = props.rateLimit ?? 100;
    this.http = new api.HttpApi(this, 'Http', {
      apiName: Stack.of(this).stackName,
      createDefaultStage: false,
      defaultAuthorizer: props.authorizer ?? new authorizers.HttpIamAuthorizer(),
    });
    new api.HttpStage(this, 'Stage', {
      httpApi: this.http,
      stageName: '$default',
      autoDeploy: true,
      throttle: { rateLimit, burstLimit: 2 * rateLimit },
      accessLogSettings: {
        destination: new api.LogGroupLogDestination(
          new logs.LogGroup(this, 'AccessLogs', {
            retention: props.stage.logRetention,
            removalPolicy: props.stage.removalPolicy,
          }),
        ),
        format: apigateway.AccessLogFormat.custom(JSON.stringify(LOGGED)),
      },
    });
    const trigger = new integrations.HttpLambdaIntegration('Trigger', props.trigger);
    const status = new integrations.HttpLambdaIntegration('Status', props.status);
    this.http.addRoutes({ path: '/workflows/{name}/runs', methods: [POST], integration: trigger });
    this.http.addRoutes({ path: '/runs/{id}', methods: [GET], integration: status });
    this.http.addRoutes({ path: '/runs', methods: [GET], integration: status });
  }
}
