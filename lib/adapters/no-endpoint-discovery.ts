/**
 * DynamoDB's client can look up endpoints for itself, which nobody asks of it: it is off unless configured. The bundler
 * puts this in the place of `@aws-sdk/middleware-endpoint-discovery`, which with its cache is 8 KB of every function.
 */

/** What the client resolves its configuration with: nothing is added. */
export const resolveEndpointDiscoveryConfig = <Config extends object>(config: Config): Config => config;

/** Where the setting would be read from: nowhere. */
export const NODE_ENDPOINT_DISCOVERY_CONFIG_OPTIONS = {
  environmentVariableSelector: (): undefined => undefined,
  configFileSelector: (): undefined => undefined,
  default: undefined,
};
