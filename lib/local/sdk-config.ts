/** What an SDK client needs to reach the local cloud: its address, and trust in its own certificate. */
import { readFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { type Cloud, REGION } from './cloud.ts';

export const sdkConfig = async ({ endpoint, certificate }: Cloud) => ({
  endpoint,
  region: REGION,
  credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  requestHandler: { httpsAgent: new Agent({ ca: await readFile(certificate) }) },
});
