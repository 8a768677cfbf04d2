/** The usual build around the bench's task: middy, Powertools batch, idempotency and logger, as their pages show it. */
import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb';
import { Logger } from '@aws-lambda-powertools/logger';
import { injectLambdaContext } from '@aws-lambda-powertools/logger/middleware';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import middy from '@middy/core';
import type { Context, SQSEvent, SQSRecord } from 'aws-lambda';
import * as z from 'zod/mini';
import { input, output, work } from './task.ts';

const envelope = z.looseObject({ id: z.string(), type: z.string(), data: input });

export const make = (client: DynamoDBClient) => {
  const logger = new Logger({ serviceName: 'worker' });
  const processor = new BatchProcessor(EventType.SQS);
  const config = new IdempotencyConfig({ eventKeyJmesPath: 'id' });
  const persistenceStore = new DynamoDBPersistenceLayer({ tableName: 'idempotency', awsSdkV3Client: client });
  const once = makeIdempotent(
    async (command: z.infer<typeof envelope>) => {
      const result = z.parse(output, await work(command.data));
      logger.info('task done', { task: command.id, type: command.type });
      return result;
    },
    { persistenceStore, config },
  );
  const one = async (record: SQSRecord): Promise<void> => {
    await once(z.parse(envelope, JSON.parse(record.body)));
  };
  return middy<SQSEvent>()
    .use(injectLambdaContext(logger))
    .handler((event: SQSEvent, context: Context) => {
      config.registerLambdaContext(context);
      return processPartialResponse(event, one, processor, { context });
    });
};
