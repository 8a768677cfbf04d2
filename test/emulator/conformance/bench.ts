/** Things of a check's own in the cloud at hand: made under fresh names, taken away at the end. */
import {
  type AttributeDefinition,
  CreateTableCommand,
  DeleteTableCommand,
  type GlobalSecondaryIndex,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import {
  CreateRoleCommand,
  DeleteRoleCommand,
  DeleteRolePolicyCommand,
  PutRolePolicyCommand,
} from '@aws-sdk/client-iam';
import {
  CreateEventSourceMappingCommand,
  CreateFunctionCommand,
  DeleteEventSourceMappingCommand,
  DeleteFunctionCommand,
  GetEventSourceMappingCommand,
  GetFunctionConfigurationCommand,
  InvokeCommand,
} from '@aws-sdk/client-lambda';
import { CreateStateMachineCommand, DeleteStateMachineCommand } from '@aws-sdk/client-sfn';
import { CreateTopicCommand, DeleteTopicCommand, SubscribeCommand } from '@aws-sdk/client-sns';
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  SetQueueAttributesCommand,
} from '@aws-sdk/client-sqs';
import { build } from 'esbuild';
import type { Deployed } from '#test/cloud/deployed.ts';
import { until } from '#test/cloud/until.ts';
import { zipOf } from './zip.ts';

export interface MadeQueue {
  readonly url: string;
  readonly arn: string;
}

const trusts = (service: string): string =>
  JSON.stringify({
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Principal: { Service: service }, Action: 'sts:AssumeRole' }],
  });

export const policy = (...statements: readonly { Action: string | string[]; Resource: string }[]): string =>
  JSON.stringify({
    Version: '2012-10-17',
    Statement: statements.map((statement) => ({ Effect: 'Allow', ...statement })),
  });

export function conformanceBench(system: Deployed) {
  const { dynamo, iam, lambda, sfn, sns, sqs } = system;
  const undo: (() => Promise<unknown>)[] = [];
  let made = 0;
  const fresh = (what: string): string => `conf-${what}-${Date.now().toString(36)}-${process.pid}-${made++}`;

  async function queue(what: string, attributes: Record<string, string> = {}): Promise<MadeQueue> {
    const { QueueUrl: url = '' } = await sqs.send(
      new CreateQueueCommand({
        QueueName: `${fresh(what)}${attributes['FifoQueue'] === 'true' ? '.fifo' : ''}`,
        Attributes: attributes,
      }),
    );
    undo.push(() => sqs.send(new DeleteQueueCommand({ QueueUrl: url })));
    const { Attributes } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['QueueArn'] }),
    );
    return { url, arn: Attributes?.['QueueArn'] ?? '' };
  }

  async function receive({ url }: MadeQueue, seconds = 2, visibility = 30, most = 10): Promise<Message[]> {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({
        QueueUrl: url,
        MaxNumberOfMessages: most,
        WaitTimeSeconds: seconds,
        VisibilityTimeout: visibility,
        MessageAttributeNames: ['All'],
        MessageSystemAttributeNames: ['All'],
      }),
    );
    return Messages;
  }

  /** Takes messages out until one satisfies; what does not is lost. */
  const taken = <T>(
    from: MadeQueue,
    wanted: (body: string) => T | undefined,
    withinMs = 20_000,
  ): Promise<T> =>
    until(
      `a message in ${from.url}`,
      async () => {
        let found: T | undefined;
        // One at a time: a second one of the same receive would be deleted unseen.
        for (const { Body = '', ReceiptHandle } of await receive(from, 0, 30, 1)) {
          await sqs.send(new DeleteMessageCommand({ QueueUrl: from.url, ReceiptHandle }));
          found ??= wanted(Body);
        }
        return found;
      },
      { withinMs },
    );

  async function topic(what: string, attributes: Record<string, string> = {}): Promise<string> {
    const Name = `${fresh(what)}${attributes['FifoTopic'] === 'true' ? '.fifo' : ''}`;
    const { TopicArn = '' } = await sns.send(new CreateTopicCommand({ Name, Attributes: attributes }));
    undo.push(() => sns.send(new DeleteTopicCommand({ TopicArn })));
    return TopicArn;
  }

  async function subscribed(TopicArn: string, to: MadeQueue, filter?: object): Promise<void> {
    const Statement = [
      {
        Effect: 'Allow',
        Principal: { Service: 'sns.amazonaws.com' },
        Action: 'sqs:SendMessage',
        Resource: to.arn,
        Condition: { ArnEquals: { 'aws:SourceArn': TopicArn } },
      },
    ];
    await sqs.send(
      new SetQueueAttributesCommand({
        QueueUrl: to.url,
        Attributes: { Policy: JSON.stringify({ Version: '2012-10-17', Statement }) },
      }),
    );
    await sns.send(
      new SubscribeCommand({
        TopicArn,
        Protocol: 'sqs',
        Endpoint: to.arn,
        Attributes: { RawMessageDelivery: 'true', ...(filter && { FilterPolicy: JSON.stringify(filter) }) },
      }),
    );
  }

  /** With a stream of both images, key (PK, SK). */
  async function table(
    what: string,
    attributes: readonly AttributeDefinition[] = [],
    indexes?: GlobalSecondaryIndex[],
  ): Promise<{ readonly name: string; readonly stream: string }> {
    const TableName = fresh(what);
    const { TableDescription } = await dynamo.send(
      new CreateTableCommand({
        TableName,
        BillingMode: 'PAY_PER_REQUEST',
        KeySchema: [
          { AttributeName: 'PK', KeyType: 'HASH' },
          { AttributeName: 'SK', KeyType: 'RANGE' },
        ],
        AttributeDefinitions: [
          { AttributeName: 'PK', AttributeType: 'S' },
          { AttributeName: 'SK', AttributeType: 'S' },
          ...attributes,
        ],
        ...(indexes && { GlobalSecondaryIndexes: indexes }),
        StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
      }),
    );
    undo.push(() => dynamo.send(new DeleteTableCommand({ TableName })));
    await waitUntilTableExists({ client: dynamo, minDelay: 1, maxDelay: 2, maxWaitTime: 60 }, { TableName });
    return { name: TableName, stream: TableDescription?.LatestStreamArn ?? '' };
  }

  /** @param PolicyDocument what the role may do; named `work` */
  async function role(
    service: string,
    PolicyDocument: string,
  ): Promise<{ readonly name: string; readonly arn: string }> {
    const RoleName = fresh('role').slice(0, 64);
    const { Role } = await iam.send(
      new CreateRoleCommand({ RoleName, AssumeRolePolicyDocument: trusts(service) }),
    );
    await iam.send(new PutRolePolicyCommand({ RoleName, PolicyName: 'work', PolicyDocument }));
    undo.push(async () => {
      await iam.send(new DeleteRolePolicyCommand({ RoleName, PolicyName: 'work' }));
      await iam.send(new DeleteRoleCommand({ RoleName }));
    });
    return { name: RoleName, arn: Role?.Arn ?? '' };
  }

  /** The probe function and the queue of its reports. */
  async function probe(what: string) {
    const reports = await queue(`${what}-reports`);
    const { name: roleName, arn } = await role(
      'lambda.amazonaws.com',
      policy({ Action: ['sqs:*', 'dynamodb:*', 'logs:*'], Resource: '*' }),
    );
    const FunctionName = fresh(what);
    await until('the function is made', async () => {
      try {
        return await lambda.send(
          new CreateFunctionCommand({
            FunctionName,
            Runtime: 'nodejs24.x',
            Role: arn,
            Handler: 'index.handler',
            Timeout: 10,
            MemorySize: 256,
            Code: { ZipFile: await probeCode() },
            Environment: { Variables: { REPORT_QUEUE: reports.url } },
          }),
        );
      } catch (error) {
        // A role is not known everywhere at once.
        if ((error as Error).name === 'InvalidParameterValueException') return undefined;
        throw error;
      }
    });
    undo.push(() => lambda.send(new DeleteFunctionCommand({ FunctionName })));
    const { FunctionArn = '' } = await until('the function is ready', async () => {
      const now = await lambda.send(new GetFunctionConfigurationCommand({ FunctionName }));
      return now.State === undefined || now.State === 'Active' ? now : undefined;
    });

    // Warm: what is measured is not a cold start.
    await lambda.send(new InvokeCommand({ FunctionName, Payload: '{}' }));
    await taken(reports, (body) => body);

    async function feed(EventSourceArn: string, more: object = {}): Promise<string> {
      const { UUID = '' } = await lambda.send(
        new CreateEventSourceMappingCommand({
          FunctionName,
          EventSourceArn,
          FunctionResponseTypes: ['ReportBatchItemFailures'],
          ...more,
        }),
      );
      undo.push(() => lambda.send(new DeleteEventSourceMappingCommand({ UUID })));
      await until('the mapping is on', async () => {
        const { State } = await lambda.send(new GetEventSourceMappingCommand({ UUID }));
        return State === 'Enabled' ? true : undefined;
      });
      return UUID;
    }
    return { name: FunctionName, arn: FunctionArn, roleName, reports, feed };
  }

  async function machine(what: string, states: object): Promise<string> {
    const { arn } = await role(
      'states.amazonaws.com',
      policy({ Action: ['lambda:InvokeFunction', 'sqs:SendMessage'], Resource: '*' }),
    );
    const { stateMachineArn = '' } = await until('the machine is made', async () => {
      try {
        return await sfn.send(
          new CreateStateMachineCommand({
            name: fresh(what),
            roleArn: arn,
            definition: JSON.stringify({ StartAt: Object.keys(states)[0], States: states }),
          }),
        );
      } catch (error) {
        if ((error as Error).name === 'AccessDeniedException') return undefined;
        throw error;
      }
    });
    undo.push(() => sfn.send(new DeleteStateMachineCommand({ stateMachineArn })));
    return stateMachineArn;
  }

  /** Newest first; what is gone already is no error. */
  async function cleanUp(): Promise<void> {
    for (const step of undo.toReversed()) await step().catch(() => {});
    undo.length = 0;
  }

  return {
    system,
    fresh,
    queue,
    receive,
    taken,
    topic,
    subscribed,
    table,
    role,
    probe,
    machine,
    undo,
    cleanUp,
  };
}

export type Bench = ReturnType<typeof conformanceBench>;

let code: Promise<Uint8Array> | undefined;
function probeCode(): Promise<Uint8Array> {
  code ??= build({
    entryPoints: [`${import.meta.dirname}/probe-function.ts`],
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    minify: true,
    write: false,
    logLevel: 'error',
  }).then(({ outputFiles }) => zipOf('index.js', outputFiles[0]?.contents ?? new Uint8Array()));
  return code;
}
