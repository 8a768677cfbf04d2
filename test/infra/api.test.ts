import { describe, expect, it } from 'vitest';
import { buildStage, resources, templateOf } from './edow-app.ts';

describe.each(['local', 'prod'] as const)('HTTP API of %s', (stage) => {
  const { pipeline } = buildStage(stage);

  it('has three routes, each for callers that IAM lets in', () => {
    const routes = Object.values(resources(pipeline, 'AWS::ApiGatewayV2::Route')).map(({ Properties }) => [
      Properties.RouteKey,
      Properties.AuthorizationType,
    ]);
    expect(routes.sort()).toEqual([
      ['GET /runs', 'AWS_IAM'],
      ['GET /runs/{id}', 'AWS_IAM'],
      ['POST /workflows/{name}/runs', 'AWS_IAM'],
    ]);
  });

  it('limits the rate and logs who called what, never a body or a query', () => {
    const [apiStage] = Object.values(resources(pipeline, 'AWS::ApiGatewayV2::Stage'));
    expect(apiStage?.Properties).toMatchObject({
      StageName: '$default',
      AutoDeploy: true,
      DefaultRouteSettings: { ThrottlingRateLimit: 100, ThrottlingBurstLimit: 200 },
      AccessLogSettings: {
        DestinationArn: { 'Fn::GetAtt': [expect.stringMatching(/^ApiAccessLogs/), 'Arn'] },
      },
    });
    const logged = JSON.parse(apiStage?.Properties.AccessLogSettings.Format);
    expect(Object.keys(logged).sort()).toEqual([
      'caller',
      'error',
      'latencyMs',
      'length',
      'method',
      'requestId',
      'route',
      'sourceIp',
      'status',
      'time',
    ]);
    expect(JSON.stringify(logged)).not.toMatch(/\$context\.(path|requestOverride)|body|query/i);
  });

  it('calls trigger and status with the payload of version 2', () => {
    templateOf(pipeline).allResourcesProperties('AWS::ApiGatewayV2::Integration', {
      IntegrationType: 'AWS_PROXY',
      PayloadFormatVersion: '2.0',
    });
    templateOf(pipeline).resourceCountIs('AWS::ApiGatewayV2::Integration', 2);
  });
});
