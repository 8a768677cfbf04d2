import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CLIENT } from '#adapters/client-config.ts';
import { dynamoStore } from '#adapters/dynamo-store.ts';
import { PortUnavailable } from '#core/errors.ts';

/** Accepts requests and never answers. */
let asked = 0;
let server: Server;
beforeAll(async () => {
  server = createServer(() => {
    asked++;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

test('a service that does not answer is given up after two tries, within 8.1 s', async () => {
  const client = new DynamoDBClient({
    ...CLIENT,
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
  });
  const start = performance.now();
  await expect(dynamoStore(client, 't').get({ PK: 'a', SK: 'b' })).rejects.toThrow(PortUnavailable);
  const took = performance.now() - start;
  expect(asked).toBe(2);
  expect(took).toBeGreaterThan(2 * CLIENT.requestHandler.requestTimeout - 100);
  expect(took).toBeLessThan(8_100);
  client.destroy();
}, 12_000);
