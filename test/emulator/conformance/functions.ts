import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { PutRolePolicyCommand } from '@aws-sdk/client-iam';
import { InvokeCommand, UpdateEventSourceMappingCommand } from '@aws-sdk/client-lambda';
import { DescribeExecutionCommand, StartExecutionCommand } from '@aws-sdk/client-sfn';
import { SendMessageBatchCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { runHasOutbox, taskTurnsTerminal } from '#constructs/stream-filters.ts';
import { until } from '#test/cloud/until.ts';
import { type Bench, policy } from './bench.ts';
import { type Check, every, type Finding, same } from './checks.ts';

interface Report {
  readonly Records?: readonly {
    readonly body?: string;
    readonly eventName?: string;
    readonly messageId?: string;
    readonly attributes?: Record<string, string>;
    readonly dynamodb?: {
      Keys: { SK: { S: string } };
      NewImage: Record<string, { S?: string }>;
      OldImage?: object;
    };
  }[];
}

/** Longest wait for a report that must come, and for one that must not. */
const PATIENCE_MS = 20_000;
const QUIET_MS = 1_500;

/** Reports of the probe until `enough` says so, and whatever comes shortly after. */
async function reports(
  bench: Bench,
  from: { url: string; arn: string },
  enough: (all: readonly Report[]) => boolean,
): Promise<Report[]> {
  const all: Report[] = [];
  for (;;) {
    const next = await bench
      .taken(from, (body) => JSON.parse(body) as Report, enough(all) ? QUIET_MS : PATIENCE_MS)
      .catch(() => undefined);
    if (next === undefined) return all;
    all.push(next);
  }
}
const recordsOf = (all: readonly Report[]) => all.flatMap(({ Records = [] }) => Records);

/** A table whose stream feeds a probe by a filter; returns the records that came through. */
async function streamed(
  bench: Bench,
  filter: object,
  expected: number,
  write: (table: string) => Promise<void>,
) {
  const probe = await bench.probe('stream');
  const { name, stream } = await bench.table('stream');
  await probe.feed(stream, {
    StartingPosition: 'TRIM_HORIZON',
    BatchSize: 100,
    MaximumRetryAttempts: 3,
    FilterCriteria: { Filters: [{ Pattern: JSON.stringify(filter) }] },
  });
  await write(name);
  const all = await reports(bench, probe.reports, (seen) => recordsOf(seen).length >= expected);
  return recordsOf(all);
}

const put = (bench: Bench, TableName: string, SK: string, attributes: Record<string, object>) =>
  bench.system.dynamo.send(
    new PutItemCommand({ TableName, Item: { PK: { S: 'P' }, SK: { S: SK }, ...(attributes as object) } }),
  );
const status = (value: string) => ({ status: { S: value } });

export const functions: readonly Check[] = [
  {
    id: 'lambda.partial-batch',
    need: 'of a batch only the messages that the function reports come back',
    look: async (bench) => {
      const probe = await bench.probe('batch');
      const work = await bench.queue('batch', { VisibilityTimeout: '6' });
      await bench.system.sqs.send(
        new SendMessageBatchCommand({
          QueueUrl: work.url,
          Entries: ['ok', 'fail', 'ok'].map((is, n) => ({
            Id: String(n),
            MessageBody: JSON.stringify({ n, is }),
          })),
        }),
      );
      await probe.feed(work.arn, { BatchSize: 10 });
      const all = await reports(
        bench,
        probe.reports,
        (seen) => recordsOf(seen).filter(({ body }) => body?.includes('fail')).length >= 2,
      );
      const times = (n: number) => recordsOf(all).filter(({ body }) => body?.includes(`"n":${n}`)).length;
      return every(
        same([times(0), times(2)], [1, 1]),
        times(1) >= 2 ? 'works' : { differs: 'the reported one never came back' },
      );
    },
  },
  {
    id: 'lambda.record-attributes',
    need: 'a record tells how often and when it was sent: tries and redrives are judged by that',
    look: async (bench) => {
      const probe = await bench.probe('record');
      const work = await bench.queue('record', { VisibilityTimeout: '30' });
      await bench.system.sqs.send(new SendMessageCommand({ QueueUrl: work.url, MessageBody: '{}' }));
      await probe.feed(work.arn);
      const [record] = recordsOf(await reports(bench, probe.reports, (seen) => seen.length > 0));
      return every(
        same(record?.attributes?.['ApproximateReceiveCount'], '1'),
        Math.abs(Number(record?.attributes?.['SentTimestamp']) - Date.now()) < 120_000
          ? 'works'
          : { differs: `SentTimestamp is ${record?.attributes?.['SentTimestamp']}` },
      );
    },
  },
  {
    id: 'lambda.mapping-off-and-on',
    need: 'a mapping that is switched off hands out nothing, and goes on where it was when it is on again',
    look: async (bench) => {
      const probe = await bench.probe('switch');
      const work = await bench.queue('switch', { VisibilityTimeout: '30' });
      const UUID = await probe.feed(work.arn);
      await bench.system.lambda.send(new UpdateEventSourceMappingCommand({ UUID, Enabled: false }));
      await bench.system.sqs.send(new SendMessageCommand({ QueueUrl: work.url, MessageBody: '{}' }));
      const early = await bench.receive(probe.reports, 2);
      await bench.system.lambda.send(new UpdateEventSourceMappingCommand({ UUID, Enabled: true }));
      const late = await reports(bench, probe.reports, (seen) => seen.length > 0);
      return same([early.length, late.length], [0, 1]);
    },
  },
  {
    id: 'stream.task-filter',
    need: 'the stream wakes us when a step turns done or dead, and not for marks on one that is',
    look: async (bench) => {
      const records = await streamed(bench, taskTurnsTerminal, 2, async (table) => {
        for (const [SK, from, into] of [
          ['STEP#done', 'claimed', 'done'],
          ['STEP#dead', 'retrying', 'dead'],
          ['STEP#other', 'ready', 'claimed'],
          ['JOIN#x', 'claimed', 'done'],
        ] as const) {
          await put(bench, table, SK, status(from));
          await put(bench, table, SK, status(into));
        }
        await put(bench, table, 'STEP#done', { ...status('done'), unaccepted: { BOOL: true } });
      });
      return same(records.map(({ dynamodb }) => dynamodb?.Keys.SK.S).toSorted(), ['STEP#dead', 'STEP#done']);
    },
  },
  {
    id: 'stream.run-filter',
    need: 'the stream wakes us for a run that has something to tell, new or changed',
    look: async (bench) => {
      const outbox = (type: string) => ({ outbox: { M: { type: { S: type } } } });
      const records = await streamed(bench, runHasOutbox, 2, async (table) => {
        await put(bench, table, 'RUN', outbox('a'));
        await put(bench, table, 'RUN', outbox('b'));
        await put(bench, table, 'STEP#a', outbox('c'));
        await put(bench, table, 'KEY', status('x'));
      });
      return same(
        records.map(({ dynamodb }) => [dynamodb?.Keys.SK.S, dynamodb?.OldImage !== undefined]),
        [
          ['RUN', false],
          ['RUN', true],
        ],
      );
    },
  },
  {
    id: 'stream.partial-batch',
    need: 'a stream record that the function reports comes again, and none is lost',
    look: async (bench) => {
      const records = await streamed(bench, { eventName: ['INSERT'] }, 2, async (table) => {
        await put(bench, table, 'A', { fail: { BOOL: true } });
        await put(bench, table, 'B', status('x'));
      });
      const keys = records.map(({ dynamodb }) => dynamodb?.Keys.SK.S);
      return every(
        keys.includes('B') ? 'works' : { differs: 'the record after it was lost' },
        keys.filter((key) => key === 'A').length > 1
          ? 'works'
          : { differs: 'the reported record never came again' },
      );
    },
  },
  {
    id: 'states.lambda-token',
    need: 'a state hands its payload to a function, and a function that throws fails the state at once',
    look: async (bench) => {
      const probe = await bench.probe('task');
      const stateMachineArn = await bench.machine('invokes', {
        Call: {
          Type: 'Task',
          QueryLanguage: 'JSONata',
          Resource: 'arn:aws:states:::lambda:invoke.waitForTaskToken',
          Arguments: {
            FunctionName: probe.arn,
            Payload: { token: '{% $states.context.Task.Token %}', throw: true },
          },
          TimeoutSeconds: 8,
          End: true,
        },
      });
      const { executionArn } = await bench.system.sfn.send(new StartExecutionCommand({ stateMachineArn }));
      const report = await bench.taken(probe.reports, (body) => JSON.parse(body) as { token?: string });
      const end = await until('the execution has ended', async () => {
        const now = await bench.system.sfn.send(new DescribeExecutionCommand({ executionArn }));
        return now.status === 'RUNNING' ? undefined : now;
      });
      return every(
        report.token ? 'works' : { differs: 'no token in the payload' },
        end.error === 'States.Timeout' ? { differs: 'the error was swallowed until the time-out' } : 'works',
      );
    },
  },
  {
    id: 'iam.grant-removed',
    need: 'what a role no longer allows is denied to its function: least privilege can be proven',
    look: async (bench) => {
      const probe = await bench.probe('grant');
      const other = await bench.queue('granted');
      const call = async (): Promise<unknown> => {
        const { Payload } = await bench.system.lambda.send(
          new InvokeCommand({ FunctionName: probe.name, Payload: JSON.stringify({ other: other.url }) }),
        );
        return JSON.parse(Buffer.from(Payload ?? []).toString() || 'null');
      };
      const allowed = await call();
      await bench.system.iam.send(
        new PutRolePolicyCommand({
          RoleName: probe.roleName,
          PolicyName: 'work',
          PolicyDocument: policy({ Action: ['sqs:*', 'logs:*'], Resource: probe.reports.arn }),
        }),
      );
      const denied = await until(
        'the change holds',
        async () => {
          const answer = await call();
          return answer === 'sent' ? undefined : answer;
        },
        { withinMs: 30_000, everyMs: 500 },
      ).catch(() => 'sent');
      const finding: Finding = /AccessDenied/.test(String(denied))
        ? 'works'
        : { differs: `${denied} after the removal` };
      return every(same(allowed, 'sent'), finding);
    },
  },
];
