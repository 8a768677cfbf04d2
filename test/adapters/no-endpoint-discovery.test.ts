import { expect, test } from 'vitest';
import * as ours from '#adapters/no-endpoint-discovery.ts';

test('stands for what the client imports, and adds nothing', () => {
  const config = { region: 'eu-west-1' };
  expect(ours.resolveEndpointDiscoveryConfig(config)).toBe(config);
  const { NODE_ENDPOINT_DISCOVERY_CONFIG_OPTIONS: options } = ours;
  expect([options.environmentVariableSelector(), options.configFileSelector(), options.default]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
