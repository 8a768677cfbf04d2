import { describe, expect, it } from 'vitest';
import { stackNames } from '#stacks/stack-names.ts';
import { type StageContext, stageFrom } from '#stacks/stages.ts';
import { contracts } from '#workflows/contracts.ts';
import { workflows } from '#workflows/deployed.ts';
import { buildStage, DOWNSTREAM, templateOf } from './edow-app.ts';

const from = (context: Partial<StageContext>) => stageFrom({ version: 'v', ...context });

describe('context', () => {
  it('chooses dev when nothing is said', () => {
    expect(from({}).name).toBe('dev');
  });

  it.each<[string, Partial<StageContext>, string[]]>([
    ['an unknown stage', { stage: 'staging' }, ['"staging"', 'local, dev, prod', '-c stage=dev']],
    [
      'prod without a downstream',
      { stage: 'prod' },
      ['downstreamUrl is missing', '-c downstreamUrl=https://'],
    ],
    [
      'prod with a downstream over http',
      { stage: 'prod', downstreamUrl: 'http://x' },
      ['"http://x"', 'https URL'],
    ],
    ['tenants that are no JSON', { tenants: '{' }, ['tenants is not an object', '-c tenants=']],
    [
      'tenants with a bad name',
      { tenants: { 'arn:aws:iam::1:role/a': 'A B' } },
      ['tenants is not an object'],
    ],
  ])('refuses %s, saying what to pass', (_, context, texts) => {
    for (const text of texts) expect(() => from(context)).toThrow(text);
  });

  it('takes tenants as JSON text', () => {
    const arn = 'arn:aws:iam::123456789012:role/shop';
    expect(from({ tenants: JSON.stringify({ [arn]: 'shop' }) }).tenants).toEqual({ [arn]: 'shop' });
  });
});

describe('what differs', () => {
  it('names of stacks say the stage, and no resource has a fixed name', () => {
    expect(stackNames('local')).toEqual({
      state: 'edow-local-state',
      stubs: 'edow-local-stubs',
      pipeline: 'edow-local-pipeline',
      observability: 'edow-local-observability',
    });
    const { pipeline, state } = buildStage('prod');
    const fixed = [pipeline, state].flatMap((stack) =>
      Object.entries(templateOf(stack).toJSON().Resources as Record<string, { Properties?: object }>).flatMap(
        ([id, { Properties }]) =>
          Object.entries(Properties ?? {})
            .filter(([name, value]) => /Name$/.test(name) && typeof value === 'string')
            .map(([name, value]) => [id, name, value]),
      ),
    );
    // Policies are named within their role, an API by its id and its stage by convention, metrics by AWS.
    const harmless = /^(PolicyName|StageName|MetricName|Name)$/;
    // CloudFormation gives a FIFO topic a name without the ending that it must have: ours tells of stack and place.
    expect(fixed.filter(([, name]) => !harmless.test(String(name)))).toEqual([
      [
        expect.stringMatching(/^CommandsOrdered/),
        'TopicName',
        expect.stringMatching(/^edowprodpipeline-.+\.fifo$/),
      ],
    ]);
    expect(fixed.length).toBeGreaterThan(9);
  });

  it('workers of prod call the real downstream, those of dev the stub', () => {
    const variables = (stage: 'dev' | 'prod') =>
      Object.values(templateOf(buildStage(stage).pipeline).findResources('AWS::Lambda::Function'))
        .map(({ Properties }) => Properties.Environment.Variables)
        .filter((all) => 'EDOW_WORK_QUEUE_URL' in all);
    expect(variables('prod').map(({ EDOW_DOWNSTREAM_URL }) => EDOW_DOWNSTREAM_URL)).toEqual(
      Array(5).fill(DOWNSTREAM),
    );
    expect(variables('prod').filter((all) => 'EDOW_STUB_TABLE' in all)).toEqual([]);
    expect(variables('dev').filter((all) => 'EDOW_STUB_TABLE' in all)).toHaveLength(5);
    expect(variables('dev').filter((all) => 'EDOW_DOWNSTREAM_URL' in all)).toEqual([]);
  });
});

describe('what the team deploys', () => {
  it('every workflow has its contract where the API looks for it, and the other way round', () => {
    expect(workflows.map(({ contract }) => contract)).toEqual(contracts);
    expect(contracts.length).toBeGreaterThan(0);
  });
});

describe('outputs', () => {
  it.each(['local', 'prod'] as const)('%s: the names that tools read', (stage) => {
    const names = Object.keys(templateOf(buildStage(stage).pipeline).findOutputs('*'));
    const own = names.filter((name) => !name.startsWith('ExportsOutput'));
    expect(own.sort()).toEqual(
      [
        'AccountsTableName',
        'AlarmTopicArn',
        'ApiId',
        'ApiUrl',
        'CommandsTopicArn',
        'DeadLetters',
        'EventsTopicArn',
        'Functions',
        'PayloadBucketName',
        'Queues',
        'StateMachineArns',
        'StateTableName',
        ...(stage === 'local' ? ['StubTableName'] : []),
        'ViewsTableName',
      ].sort(),
    );
  });
});

describe('logical ids of what holds data', () => {
  it('stay as they are: another id is another, empty resource', () => {
    const stateful =
      /^AWS::(DynamoDB::Table|S3::Bucket|SQS::Queue|SNS::Topic|StepFunctions::StateMachine|ApiGatewayV2::Api)$/;
    const { state, stubs, pipeline } = buildStage('dev');
    const ids = [state, stubs, pipeline].flatMap((stack) =>
      stack === undefined
        ? []
        : Object.entries(templateOf(stack).toJSON().Resources as Record<string, { Type: string }>)
            .filter(([, { Type }]) => stateful.test(Type))
            .map(([id]) => id),
    );
    expect(ids.sort()).toMatchInlineSnapshot(`
      [
        "AccountsBE8A900E",
        "AlarmsTopic3A2DFEBA",
        "ApiHttp17514DA7",
        "CloseDeadLetters16A6154B",
        "CollectRetryDeadLettersB69FE342",
        "CollectRetryQueue7B23F0BD",
        "CommandsOrdered2D00ECF0",
        "CommandsTopic30A4C1F9",
        "EventsD32975C2",
        "PayloadsCDFAA0A2",
        "PoolinventoryWorkDeadLetters8EFEEF04",
        "PoolinventoryWorkQueue9E2228CD",
        "PoolledgerWorkDeadLetters3E8808B6",
        "PoolledgerWorkQueue484F436F",
        "PoolnotificationWorkDeadLetters0F2BA136",
        "PoolnotificationWorkQueue7B8EFA96",
        "PoolpaymentWorkDeadLettersB00E785B",
        "PoolpaymentWorkQueue18D8E648",
        "PoolshippingWorkDeadLettersD9AFDB00",
        "PoolshippingWorkQueueBF827140",
        "ProjectInboxDeadLetters5EDE1742",
        "ProjectInboxQueueD06084ED",
        "RelayRetryDeadLettersCCF49B6D",
        "RelayRetryQueueCE3A3733",
        "State1C20CC9A",
        "Stub1FEB38BE",
        "ViewsC0DDE3FE",
        "WorkfloworderMachine15ED422F",
        "WorkflowpayoutMachine834DB208",
      ]
    `);
  });
});
