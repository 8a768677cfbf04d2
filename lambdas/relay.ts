/** Table stream -> events topic: tells what the outbox of an item says. */
import { snsClient, snsEvents } from '#adapters/sns-publisher.ts';
import { sqsClient, sqsRetryQueue } from '#adapters/sqs.ts';
import { systemIds } from '#adapters/system.ts';
import { ENV } from '#core/env-names.ts';
import { relayer } from '#core/relay.ts';
import { chain } from '#runtime/chain.ts';
import { required } from '#runtime/env.ts';
import { byImage, streamHandler } from '#runtime/stream.ts';
import { tenTogether } from '#runtime/stream-work.ts';

const { relay } = relayer(
  snsEvents({ client: snsClient(), topicArn: required(ENV.eventsTopic), ids: systemIds() }),
);

export const handler = chain(
  'relay',
  streamHandler(
    {
      aside: byImage,
      retries: sqsRetryQueue(sqsClient(), required(ENV.retryQueue)),
    },
    tenTogether(relay),
  ),
);
