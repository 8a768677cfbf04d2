/** The local cloud makes a standard topic of a FIFO one in a template: messages would lose their groups. Mended by its API. */
import { paginateListTopics, SetTopicAttributesCommand, SNSClient } from '@aws-sdk/client-sns';
import type { Cloud } from './cloud.ts';
import { sdkConfig } from './sdk-config.ts';

export async function mendOrderedTopics(cloud: Cloud): Promise<void> {
  const client = new SNSClient(await sdkConfig(cloud));
  try {
    for await (const { Topics = [] } of paginateListTopics({ client }, {}))
      for (const { TopicArn } of Topics)
        if (TopicArn?.endsWith('.fifo'))
          await client.send(
            new SetTopicAttributesCommand({
              TopicArn,
              AttributeName: 'FifoTopic',
              AttributeValue: 'true',
            }),
          );
  } finally {
    client.destroy();
  }
}
