/** Events -> run list, timeline and index of dead letters. The first subscriber of the events topic. */
import { dynamoClient } from '#adapters/dynamo-client.ts';
import { dynamoStore } from '#adapters/dynamo-store.ts';
import { viewRows } from '#adapters/view-rows.ts';
import { ENV } from '#core/env-names.ts';
import { chain } from '#runtime/chain.ts';
import { required } from '#runtime/env.ts';
import { projectFeed } from '#runtime/project-feed.ts';

const views = viewRows(dynamoStore(dynamoClient(), required(ENV.viewsTable)));

export const handler = chain('project', projectFeed(views));
