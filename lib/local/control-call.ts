import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import type { Cloud } from './cloud.ts';

const ANSWER_MS = 5_000; // of a health check, under load

/** Whether the emulator serves requests. */
export async function answers(cloud: Cloud): Promise<boolean> {
  return (await call(cloud, 'GET', '/_ministack/health')) === 200;
}

/** A call to the emulator's own interface: the status code, or undefined without an answer. */
export function call(cloud: Cloud, method: string, path: string): Promise<number | undefined> {
  const ca = readFileSync(cloud.certificate);
  const options = { host: '127.0.0.1', port: cloud.port, method, path, ca, agent: false, timeout: ANSWER_MS };
  return new Promise((resolve) => {
    const sent = request(options, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => resolve(undefined));
    sent.end();
  });
}
