/** The local cloud makes a standard topic of a FIFO one in a template: messages would lose their groups. Mended by its API. */
import { readFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { paginateListTopics, SetTopicAttributesCommand, SNSClient } from '@aws-sdk/client-sns';
import { type Cloud, REGION } from './cloud.ts';

export async function mendOrderedTopics(cloud: Cloud): Promise<void> {
  const client = new SNSClient({
    endpoint: cloud.endpoint,
    region: REGION,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    requestHandler: { httpsAgent: new Agent({ ca: await readFile(cloud.certificate) }) },
  });
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
