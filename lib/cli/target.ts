/** Which cloud a command talks to. */
import type { StageName } from '#stacks/stack-names.ts';
import { CliError } from './errors.ts';

export interface Target {
  readonly kind: 'local' | 'endpoint' | 'aws';
  /** Of every service; undefined: AWS's own. */
  readonly endpoint?: string;
  readonly stage: StageName;
}

export interface TargetFlags {
  readonly endpoint?: string;
  readonly stage?: StageName;
}

/** What is known of the local cloud of this folder. */
export type CloudSeen =
  | { readonly state: 'stopped' }
  | {
      readonly state: 'running' | 'unresponsive' | 'stale';
      readonly cloud: { readonly endpoint: string };
      readonly reason?: string;
    };

const UP = 'Start it: npx edow up';

/**
 * `--endpoint` wins; stages `dev` and `prod` are never on the local cloud; then the local cloud, where one was started
 * here; then AWS_ENDPOINT_URL; then AWS itself.
 * @throws CliError `cloud_gone`, `cloud_not_running`
 */
export function chooseTarget(
  flags: TargetFlags,
  seen: CloudSeen,
  environmentEndpoint: string | undefined,
): Target {
  const { stage } = flags;
  const isRunning = seen.state === 'running';
  if (flags.endpoint !== undefined) {
    const endpoint = flags.endpoint.replace(/\/+$/, '');
    if (isRunning && endpoint === seen.cloud.endpoint) return local(endpoint);
    return { kind: 'endpoint', endpoint, stage: stage ?? 'dev' };
  }
  if (stage === undefined || stage === 'local') {
    if (isRunning) return local(seen.cloud.endpoint);
    if (seen.state === 'stale')
      throw new CliError(
        'cloud_gone',
        `the local cloud at ${seen.cloud.endpoint} was ended from outside: ${seen.reason ?? 'its process is gone'}`,
        'Start it again, it keeps nothing: npx edow up. For another cloud name it: --stage dev (AWS) or --endpoint URL',
      );
    if (seen.state === 'unresponsive')
      throw new CliError(
        'cloud_unresponsive',
        `the local cloud at ${seen.cloud.endpoint} runs, but does not answer`,
        'Wait a moment, or start it anew: npx edow down, then npx edow up',
      );
    if (stage === 'local' && !environmentEndpoint)
      throw new CliError('cloud_not_running', 'the local cloud is not running', UP);
  }
  if (environmentEndpoint)
    return { kind: 'endpoint', endpoint: environmentEndpoint.replace(/\/+$/, ''), stage: stage ?? 'dev' };
  return { kind: 'aws', stage: stage ?? 'dev' };
}

const local = (endpoint: string): Target => ({ kind: 'local', endpoint, stage: 'local' });

export function nameOf({ kind, endpoint, stage }: Target): string {
  if (kind === 'local') return `the local cloud at ${endpoint}`;
  return kind === 'endpoint' ? `${endpoint} (stage ${stage})` : `AWS (stage ${stage})`;
}

/** Root of the HTTP API. An emulator serves it below a path of its endpoint: the host name in the output is not resolved. */
export const apiRoot = (target: Target, api: { readonly url: string; readonly id: string }): string =>
  target.endpoint === undefined
    ? api.url.replace(/\/+$/, '')
    : `${target.endpoint}/_aws/execute-api/${api.id}/$default`;
