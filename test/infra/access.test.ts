/** What each function may do: the whole list, as deployed. A new grant changes a line here, and a reviewer sees it. */
import type { Stack } from 'aws-cdk-lib';
import { describe, expect, it } from 'vitest';
import { ENV } from '#core/env-names.ts';
import { buildStage, type Resource, resources } from './edow-app.ts';

const { pipeline } = buildStage('prod');
const withStub = buildStage('dev').pipeline;

interface Statement {
  readonly Effect: string;
  readonly Action: string | string[];
  readonly Resource: unknown;
}

const list = <T>(value: T | T[]): T[] => (Array.isArray(value) ? value : [value]);

/** A resource as a reader would say it: `State`, `payloads/*`, `Machine`, `Pool-x work`... */
function nameOf(resource: unknown): string {
  const text = JSON.stringify(resource);
  const known: [RegExp, string][] = [
    [/ExportsOutputFnGetAttState\w+StreamArn/, 'state stream'],
    [/ExportsOutputFnGetAttState\w+Arn\w+"\},"\/index\/open"/, 'state/index/open'],
    [/ExportsOutputFnGetAttState\w+Arn\w+"\}$/, 'state'],
    [/ExportsOutputFnGetAttViews\w+Arn\w+"\},"\/index\/byWorkflow"/, 'views/index/byWorkflow'],
    [/ExportsOutputFnGetAttViews\w+Arn\w+"\},"\/index\/byStatus"/, 'views/index/byStatus'],
    [/ExportsOutputFnGetAttViews\w+Arn\w+"\}$/, 'views'],
    [/ExportsOutputFnGetAttStub\w+Arn\w+"\}$/, 'stub'],
    [/ExportsOutputFnGetAttPayloads\w+"\},"\/payloads\/\*"/, 'payloads/*'],
    [/ExportsOutputFnGetAttPayloads\w+"\}$/, 'payloads'],
    [/:execution:".*WorkfloworderMachine\w+","Name"\]\},":\*"/, 'executions of order'],
    [/:execution:".*WorkflowpayoutMachine\w+","Name"\]\},":\*"/, 'executions of payout'],
    [/^\{"Ref":"WorkfloworderMachine/, 'machine order'],
    [/^\{"Ref":"WorkflowpayoutMachine/, 'machine payout'],
    [/ExportsOutputFnGetAttAccounts\w+Arn\w+"\}$/, 'accounts'],
    [/CommandsTopic/, 'commands'],
    [/CommandsOrdered/, 'ordered commands'],
    [/^\{"Ref":"Events/, 'events'],
    [/Pool(\w+?)WorkQueue/, 'work queue'],
    [/Pool(\w+?)WorkDeadLetters/, 'work dead letters'],
    [/RetryDeadLetters/, 'retry dead letters'],
    [/RetryQueue/, 'retry queue'],
    [/ProjectInboxQueue/, 'inbox'],
    [/CloseDeadLetters/, 'close dead letters'],
    [/DispatchFunction/, 'dispatch'],
    [/Logs\w+","Arn"/, 'own logs'],
  ];
  return known.find(([pattern]) => pattern.test(text))?.[1] ?? text;
}

/** `dynamodb:GetItem state`, sorted, of every policy whose role's logical id starts so. */
function may(stack: Stack, role: string): string[] {
  const policies = Object.values(resources(stack, 'AWS::IAM::Policy')).filter(({ Properties }: Resource) =>
    Properties.Roles.some(({ Ref }: { Ref: string }) => Ref.startsWith(role)),
  );
  const statements = policies.flatMap(({ Properties }) => Properties.PolicyDocument.Statement as Statement[]);
  expect(statements.every(({ Effect }) => Effect === 'Allow')).toBe(true);
  const lines = statements.flatMap(({ Action, Resource }) =>
    list(Action).flatMap((action) => list(Resource).map((resource) => `${action} ${nameOf(resource)}`)),
  );
  return [...new Set(lines)].sort();
}

const LOGS = ['logs:CreateLogStream own logs', 'logs:PutLogEvents own logs'];
const CONSUMES = (queue: string): string[] => [
  `sqs:DeleteMessage ${queue}`,
  `sqs:GetQueueAttributes ${queue}`,
  `sqs:ReceiveMessage ${queue}`,
];
const FOLLOWS = ['DescribeStream', 'GetRecords', 'GetShardIterator', 'ListStreams'].map(
  (action) => `dynamodb:${action} state stream`,
);
const MACHINES = ['machine order', 'machine payout'];
const STARTS = MACHINES.map((machine) => `states:StartExecution ${machine}`);
const DESCRIBES = ['order', 'payout'].map((name) => `states:DescribeExecution executions of ${name}`);
const ANSWERS = MACHINES.flatMap((machine) => [
  `states:SendTaskFailure ${machine}`,
  `states:SendTaskSuccess ${machine}`,
]);

const EXPECTED: Record<string, string[]> = {
  Trigger: ['dynamodb:GetItem state', 'dynamodb:PutItem state', 's3:PutObject payloads/*', ...STARTS],
  Status: [
    'dynamodb:Query state',
    'dynamodb:Query views',
    'dynamodb:Query views/index/byStatus',
    'dynamodb:Query views/index/byWorkflow',
    's3:GetObject payloads/*',
    's3:ListBucket payloads',
  ],
  Dispatch: [
    'dynamodb:GetItem state',
    'dynamodb:Query state',
    'dynamodb:UpdateItem state',
    's3:GetObject payloads/*',
    's3:ListBucket payloads',
    's3:PutObject payloads/*',
    'sns:Publish commands',
    'sns:Publish ordered commands',
    ...ANSWERS,
  ],
  Poolinventory: [
    'dynamodb:GetItem state',
    'dynamodb:UpdateItem state',
    's3:GetObject payloads/*',
    's3:ListBucket payloads',
    's3:PutObject payloads/*',
    'sqs:ChangeMessageVisibility work queue',
    ...CONSUMES('work queue'),
  ],
  Collect: [
    'dynamodb:GetItem state',
    'dynamodb:Query state',
    'dynamodb:UpdateItem state',
    ...STARTS,
    'sqs:SendMessage retry dead letters',
    'sqs:SendMessage retry queue',
    ...ANSWERS,
    ...FOLLOWS,
    ...CONSUMES('retry queue'),
  ],
  Relay: [
    'sns:Publish events',
    'sqs:SendMessage retry dead letters',
    'sqs:SendMessage retry queue',
    ...FOLLOWS,
    ...CONSUMES('retry queue'),
  ],
  Project: ['dynamodb:GetItem views', 'dynamodb:PutItem views', 'dynamodb:Query views', ...CONSUMES('inbox')],
  Close: [
    'dynamodb:Query state',
    'dynamodb:UpdateItem state',
    's3:PutObject payloads/*',
    'sqs:SendMessage close dead letters',
    ...DESCRIBES,
  ],
  Sweep: [
    'dynamodb:GetItem state',
    'dynamodb:PutItem views',
    'dynamodb:Query views',
    'sqs:GetQueueAttributes inbox',
    'sqs:SendMessage retry queue',
    'dynamodb:Query state',
    'dynamodb:Query state/index/open',
    'dynamodb:UpdateItem state',
    's3:GetObject payloads/*',
    's3:ListBucket payloads',
    's3:PutObject payloads/*',
    'sqs:ChangeMessageVisibility work dead letters',
    'sqs:GetQueueAttributes work queue',
    'sqs:ReceiveMessage work dead letters',
    'sqs:SendMessage work queue',
    ...DESCRIBES,
    ...STARTS,
    ...ANSWERS,
  ],
};

describe('a function may do exactly this', () => {
  it.each(Object.entries(EXPECTED))('%s', (role, expected) => {
    expect(may(pipeline, role)).toEqual([...expected, ...LOGS].sort());
  });

  it('an ordered pool checks the line of a key beside it; the ledger books on its accounts', () => {
    const more = may(pipeline, 'Poolledger').filter((line) => !may(pipeline, 'Poolinventory').includes(line));
    expect(more).toEqual([
      'dynamodb:ConditionCheckItem state',
      'dynamodb:GetItem accounts',
      'dynamodb:PutItem accounts',
      'dynamodb:UpdateItem accounts',
    ]);
    expect(
      may(pipeline, 'Poolinventory').filter((line) => !may(pipeline, 'Poolledger').includes(line)),
    ).toEqual([]);
  });

  it('all other pools alike; with the stub downstream, its table too', () => {
    for (const pool of ['Poolpayment', 'Poolshipping', 'Poolnotification'])
      expect(may(pipeline, pool)).toEqual(may(pipeline, 'Poolinventory'));
    expect(
      may(withStub, 'Poolinventory').filter((line) => !may(pipeline, 'Poolinventory').includes(line)),
    ).toEqual(['dynamodb:GetItem stub', 'dynamodb:UpdateItem stub']);
  });

  it('each state machine calls dispatch alone', () => {
    for (const name of ['order', 'payout']) {
      const calls = may(pipeline, `Workflow${name}MachineRole`);
      expect(calls.filter((line) => !/^(logs|xray):/.test(line))).toEqual(['lambda:InvokeFunction dispatch']);
    }
  });
});

describe('wildcards', () => {
  it('stand for objects of payloads/, executions of one machine, and what has no narrower resource', () => {
    const statements = Object.values(resources(pipeline, 'AWS::IAM::Policy')).flatMap(
      ({ Properties }) => Properties.PolicyDocument.Statement as Statement[],
    );
    const wild = statements.flatMap(({ Action, Resource }) =>
      list(Resource)
        .filter((resource) => JSON.stringify(resource).includes('*'))
        .flatMap((resource) => list(Action).map((action) => `${action} on ${nameOf(resource)}`)),
    );
    expect(statements.length).toBeGreaterThan(50);
    expect([...new Set(wild)].sort()).toEqual([
      'logs:CreateLogDelivery on "*"',
      'logs:DeleteLogDelivery on "*"',
      'logs:DescribeLogGroups on "*"',
      'logs:DescribeResourcePolicies on "*"',
      'logs:GetLogDelivery on "*"',
      'logs:ListLogDeliveries on "*"',
      'logs:PutResourcePolicy on "*"',
      'logs:UpdateLogDelivery on "*"',
      's3:GetObject on payloads/*',
      's3:PutObject on payloads/*',
      'states:DescribeExecution on executions of order',
      'states:DescribeExecution on executions of payout',
      'xray:GetSamplingRules on "*"',
      'xray:GetSamplingTargets on "*"',
      'xray:PutTelemetryRecords on "*"',
      'xray:PutTraceSegments on "*"',
    ]);
  });

  it('no action is a wildcard, and no role has a managed policy', () => {
    const roles = Object.values(resources(pipeline, 'AWS::IAM::Role'));
    expect(roles.length).toBeGreaterThan(12);
    for (const { Properties } of roles) expect(Properties.ManagedPolicyArns).toBeUndefined();
    const actions = Object.values(resources(pipeline, 'AWS::IAM::Policy')).flatMap(({ Properties }) =>
      (Properties.PolicyDocument.Statement as Statement[]).flatMap(({ Action }) => list(Action)),
    );
    expect(actions.filter((action) => action.includes('*'))).toEqual([]);
  });

  it('the local cloud takes answers on * only: that differs, and nothing else of the answer policy', () => {
    const answer = ({ pipeline: stack }: { pipeline: Stack }) =>
      Object.entries(resources(stack, 'AWS::IAM::Policy'))
        .filter(([id]) => id.includes('AnswerPolicy'))
        .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement);
    const local = answer(buildStage('local'));
    expect(local).toHaveLength(3);
    for (const statement of local)
      expect(statement).toEqual({
        Effect: 'Allow',
        Action: ['states:SendTaskFailure', 'states:SendTaskSuccess'],
        Resource: '*',
      });
  });
});

const { stateTable, viewsTable, payloadBucket, commandsTopic, eventsTopic, workQueue } = ENV;
const { retryQueue, workflows, tenants, workQueues, version, logLevel } = ENV;
const WORKER = [stateTable, payloadBucket, workQueue, version, ENV.batchConcurrency, ENV.downstreamUrl];
const VARIABLES: Record<string, string[]> = {
  Trigger: [stateTable, payloadBucket, workflows, tenants, version],
  Status: [stateTable, viewsTable, payloadBucket, tenants],
  Dispatch: [stateTable, payloadBucket, commandsTopic, ENV.orderedTopic, ENV.recordSeconds],
  Poolinventory: WORKER,
  Poolledger: [...WORKER, ENV.orderedPool, ENV.accountsTable],
  Collect: [stateTable, workflows, retryQueue, ENV.recordSeconds],
  Relay: [eventsTopic, retryQueue, ENV.recordSeconds],
  Project: [viewsTable],
  Close: [stateTable, payloadBucket, ENV.recordSeconds],
  Sweep: [
    stateTable,
    viewsTable,
    payloadBucket,
    workflows,
    workQueues,
    ENV.deadLetterQueues,
    ENV.projectQueue,
    retryQueue,
  ],
};

describe('a function knows exactly this', () => {
  const functions = Object.entries(resources(pipeline, 'AWS::Lambda::Function'));

  it.each(Object.entries(VARIABLES))('%s', (name, variables) => {
    const [, fn] = functions.find(([id]) => id.startsWith(name)) ?? [];
    expect(Object.keys(fn?.Properties.Environment.Variables).sort()).toEqual(
      [...variables, logLevel, 'NODE_OPTIONS'].sort(),
    );
  });

  it('runs on Node 24 and arm64, with JSON logs in a group of its own that is kept for a stated time', () => {
    const groups = resources(pipeline, 'AWS::Logs::LogGroup');
    expect(functions).toHaveLength(13);
    for (const [id, { Properties }] of functions) {
      expect(Properties, id).toMatchObject({
        Runtime: 'nodejs24.x',
        Handler: 'index.handler',
        Architectures: ['arm64'],
        LoggingConfig: { LogFormat: 'JSON' },
      });
      expect(groups[Properties.LoggingConfig.LogGroup.Ref], id).toMatchObject({
        DeletionPolicy: 'Retain',
        Properties: { RetentionInDays: 90 },
      });
    }
  });
});
