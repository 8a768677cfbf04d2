/** Events -> run list and timeline. The first subscriber of the events topic. */
import { dynamoClient } from '#adapters/dynamo-client.ts';
import { dynamoViews } from '#adapters/dynamo-views.ts';
import { ENV } from '#core/env-names.ts';
import type { Envelope } from '#core/envelope.ts';
import { project } from '#core/project.ts';
import { batch } from '#runtime/batch.ts';
import { chain } from '#runtime/chain.ts';
import { required } from '#runtime/env.ts';

const views = dynamoViews(dynamoClient(), required(ENV.viewsTable));

export const handler = chain(
  'project',
  batch(async (record) => {
    await project(views, JSON.parse(record.body) as Envelope);
    return { ack: true };
  }),
);
