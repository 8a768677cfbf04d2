/** Ports of 127.0.0.1. */

import { createServer } from 'node:net';
import { LocalCloudError } from './errors.ts';

/** A port of 127.0.0.1 that is free at this moment. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : freePort();
}

/** @throws LocalCloudError `port_taken` */
export async function assertPortIsFree(port: number): Promise<void> {
  const server = createServer();
  const problem = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    server.once('error', resolve);
    server.listen(port, '127.0.0.1', () => resolve(undefined));
  });
  if (!problem) {
    await new Promise((resolve) => server.close(resolve));
    return;
  }
  throw new LocalCloudError(
    'port_taken',
    `port ${port} of 127.0.0.1 cannot be used: ${problem.code === 'EADDRINUSE' ? 'another program listens there' : problem.message}`,
    `Choose another one: npx edow up --port ${port + 1}`,
  );
}
