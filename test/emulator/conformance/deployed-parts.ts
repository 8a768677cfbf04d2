import { GetFunctionConfigurationCommand, ListEventSourceMappingsCommand } from '@aws-sdk/client-lambda';
import {
  GetBucketLifecycleConfigurationCommand,
  GetBucketPolicyCommand,
  GetObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { GetTopicAttributesCommand } from '@aws-sdk/client-sns';
import { maxReceiveCount } from '#core/retry.ts';
import { api } from '#test/cloud/api.ts';
import type { Deployed } from '#test/cloud/deployed.ts';
import { logLines } from '#test/cloud/log-lines.ts';
import { anOrder, freshId } from '#test/cloud/orders.ts';
import { ownBooks } from '#test/cloud/own-books.ts';
import { queue } from '#test/cloud/queue.ts';
import { until } from '#test/cloud/until.ts';
import { shipOrder } from '#workflows/order/contract.ts';
import { type Check, every, type Finding, present, same } from './checks.ts';

const DAY = 86_400;

/** Whether a policy denies what does not come by TLS. */
function tlsOnly(what: string, text: string | undefined): Finding {
  const { Statement = [] } = JSON.parse(text ?? '{}') as {
    Statement?: { Effect: string; Condition?: object }[];
  };
  const denies = Statement.some(
    ({ Effect, Condition }) =>
      Effect === 'Deny' && JSON.stringify(Condition ?? {}).includes('aws:SecureTransport'),
  );
  return denies ? 'works' : { missing: `${what} has no such statement` };
}

/** An emulator's path for the bucket is the same host. */
const s3 = () => new S3Client({ forcePathStyle: process.env['AWS_ENDPOINT_URL'] !== undefined });

const topics = (system: Deployed): Promise<Record<string, string>[]> =>
  Promise.all(
    [system.commandsTopic, system.eventsTopic].map(async (TopicArn) => {
      const { Attributes = {} } = await system.sns.send(new GetTopicAttributesCommand({ TopicArn }));
      return Attributes as Record<string, string>;
    }),
  );

const queueUrls = ({ queues }: Deployed) => Object.values(queues);

export const deployedParts: readonly Check[] = [
  {
    id: 'deployed.redrive-policies',
    need: 'every deployed queue moves messages to its own dead letters, which are kept longer than it keeps them',
    look: async ({ system }) => {
      const findings: Finding[] = [];
      for (const { queueUrl, dlqUrl } of queueUrls(system)) {
        const work = await queue(system, queueUrl).attributes();
        const dead = await queue(system, dlqUrl).attributes();
        const redrive = JSON.parse(work['RedrivePolicy'] ?? '{}') as Record<string, unknown>;
        findings.push(
          same(redrive['deadLetterTargetArn'], dead['QueueArn']),
          same(Number(dead['MessageRetentionPeriod']), 14 * DAY),
          Number(work['MessageRetentionPeriod']) < 14 * DAY
            ? 'works'
            : { differs: 'kept as long as its dead letters' },
        );
      }
      const shipping = await queue(system, system.queues['shipping']?.queueUrl ?? '').attributes();
      const { maxReceiveCount: receives } = JSON.parse(shipping['RedrivePolicy'] ?? '{}') as Record<
        string,
        unknown
      >;
      return every(
        ...findings,
        findings.length > 0 ? 'works' : { missing: 'no queue is deployed' },
        same(Number(receives), maxReceiveCount(shipOrder.retry.tries)),
      );
    },
  },
  {
    id: 'deployed.queue-encryption',
    need: 'every deployed queue is encrypted at rest',
    look: async ({ system }) =>
      every(
        ...(await Promise.all(
          queueUrls(system)
            .flatMap(({ queueUrl, dlqUrl }) => [queueUrl, dlqUrl])
            .map(async (url) =>
              same((await queue(system, url).attributes())['SqsManagedSseEnabled'], 'true'),
            ),
        )),
      ),
  },
  {
    id: 'deployed.tls-only-queues',
    need: 'every deployed queue denies what does not come by TLS',
    look: async ({ system }) =>
      every(
        ...(await Promise.all(
          queueUrls(system)
            .flatMap(({ queueUrl, dlqUrl }) => [queueUrl, dlqUrl])
            .map(async (url) => tlsOnly(url, (await queue(system, url).attributes())['Policy'])),
        )),
      ),
  },
  {
    id: 'deployed.tls-only-topics',
    need: 'both topics deny what does not come by TLS',
    look: async ({ system }) => {
      const policies = (await topics(system)).map(({ Policy }) => Policy);
      return every(...policies.map((policy) => tlsOnly('a topic', policy)));
    },
  },
  {
    id: 'deployed.topic-encryption',
    need: 'both topics are encrypted at rest',
    look: async ({ system }) =>
      every(
        ...(await topics(system)).map(({ KmsMasterKeyId }) =>
          present('the setting of the template was dropped', KmsMasterKeyId),
        ),
      ),
  },
  {
    id: 'deployed.tls-only-bucket',
    need: 'the payload bucket denies what does not come by TLS',
    look: async ({ system }) =>
      tlsOnly(
        'the bucket',
        (await s3().send(new GetBucketPolicyCommand({ Bucket: system.payloadBucket }))).Policy,
      ),
  },
  {
    id: 'deployed.bucket-lifecycle',
    need: 'payloads expire, after every item that points to them',
    look: async ({ system }) => {
      const get = new GetBucketLifecycleConfigurationCommand({ Bucket: system.payloadBucket });
      const { Rules = [] } = await s3()
        .send(get)
        .catch((error: Error) => {
          if (error.name === 'NoSuchLifecycleConfiguration') return { Rules: [] };
          throw error;
        });
      if (Rules.length === 0) return { missing: 'the setting of the template was dropped' };
      return same(Rules[0]?.Expiration?.Days, 400);
    },
  },
  {
    id: 's3.missing-object',
    need: 'an object that is not there is told from one that may not be read',
    look: async ({ system }) => {
      const get = s3().send(new GetObjectCommand({ Bucket: system.payloadBucket, Key: 'payloads/none' }));
      return same(
        await get.then(
          () => 'found',
          (error: Error) => error.name,
        ),
        'NoSuchKey',
      );
    },
  },
  {
    id: 'deployed.mappings',
    need: 'every deployed mapping takes partial batch responses, and queues feed a bounded number of calls',
    look: async ({ system }) => {
      const findings: Finding[] = [];
      for (const FunctionName of Object.values(system.functions)) {
        const { EventSourceMappings = [] } = await system.lambda.send(
          new ListEventSourceMappingsCommand({ FunctionName }),
        );
        for (const { FunctionResponseTypes, EventSourceArn, ScalingConfig } of EventSourceMappings) {
          findings.push(same(FunctionResponseTypes, ['ReportBatchItemFailures']));
          if (EventSourceArn?.includes(':sqs:'))
            findings.push(present('the bound', ScalingConfig?.MaximumConcurrency));
        }
      }
      return every(
        ...findings,
        findings.length >= 12 ? 'works' : { missing: `only ${findings.length} findings` },
      );
    },
  },
  {
    id: 'deployed.stream-bounds',
    need: 'stream mappings have bounded tries and age, split a failing batch, and tell a queue what they gave up',
    look: async ({ system }) => {
      const { EventSourceMappings = [] } = await system.lambda.send(
        new ListEventSourceMappingsCommand({ FunctionName: system.functions['collect'] }),
      );
      const stream = EventSourceMappings.find(({ EventSourceArn }) => EventSourceArn?.includes(':dynamodb:'));
      return every(
        present('MaximumRetryAttempts', stream?.MaximumRetryAttempts),
        present('MaximumRecordAgeInSeconds', stream?.MaximumRecordAgeInSeconds),
        present('BisectBatchOnFunctionError', stream?.BisectBatchOnFunctionError),
        present('DestinationConfig.OnFailure', stream?.DestinationConfig?.OnFailure?.Destination),
        present('FilterCriteria', stream?.FilterCriteria?.Filters?.[0]?.Pattern),
      );
    },
  },
  {
    id: 'deployed.runtime',
    need: 'functions run on the runtime of the template, with their own log group in JSON',
    look: async ({ system }) => {
      const { Runtime, LoggingConfig } = await system.lambda.send(
        new GetFunctionConfigurationCommand({ FunctionName: system.functions['dispatch'] }),
      );
      return every(
        same(Runtime, 'nodejs24.x'),
        same(LoggingConfig?.LogFormat, 'JSON'),
        present('LogGroup', LoggingConfig?.LogGroup),
      );
    },
  },
  {
    id: 'events.end-of-execution',
    need: 'the end of an execution closes its run by an event, long before the sweeper would',
    look: async ({ system }) => {
      const { body } = await api(system).start('order', freshId('conformance'), anOrder('conformance'));
      await ownBooks(system).runIs(body.id, 'succeeded');
      return 'works';
    },
  },
  {
    id: 'events.schedule',
    need: 'the sweeper is called every minute',
    look: async ({ system }) => {
      const since = Date.now() - 15 * 60_000;
      const line = await until(
        'a sweep in the log',
        async () => (await logLines(system, 'sweep', since)).find((one) => one.includes('"message":"sweep"')),
        { withinMs: 75_000, everyMs: 1_000 },
      );
      return present('a line', line);
    },
  },
  {
    id: 'api.iam',
    need: 'the HTTP API refuses an unsigned call before any function of ours runs',
    look: async ({ system }) =>
      same((await api(system).call({ path: '/runs', caller: 'unsigned' })).status, 403),
  },
];
