/** What the command line says when something goes wrong: one line on what, one on what to do. */
import { EdowError } from '#core/errors.ts';

export const EXIT = {
  ok: 0,
  failure: 1,
  /** Unknown command, flag or argument. */
  usage: 2,
  /** A watched run is held or failed; a replay was stopped by its canary or its failure ratio. */
  unhappy: 3,
  /** The time was up first: a watched run is still running, a pool not yet paused or drained. */
  timeout: 4,
  /** Ctrl-C, as shells count it: 128 + SIGINT. */
  interrupted: 130,
} as const;

/** Something that the person at the keyboard can put right. */
export class CliError extends EdowError {
  override readonly name: string = 'CliError';
  readonly nextStep: string;
  readonly exitCode: number;
  constructor(
    code: string,
    message: string,
    nextStep: string,
    more: ErrorOptions & { exitCode?: number } = {},
  ) {
    super(code, message, more);
    this.nextStep = nextStep;
    this.exitCode = more.exitCode ?? EXIT.failure;
  }
}

export interface Explained {
  readonly code: string;
  readonly message: string;
  readonly nextStep: string;
  readonly exitCode: number;
}

interface Clue {
  readonly code: string;
  /** Names and codes of errors, as Node, the SDK and the services write them. */
  readonly names: ReadonlySet<string>;
  readonly message: (where: string) => string;
  readonly nextStep: (isLocal: boolean) => string;
}

const clueOf = (
  code: string,
  names: string,
  message: (where: string) => string,
  nextStep: (isLocal: boolean) => string,
): Clue => ({ code, names: new Set(names.split(' ')), message, nextStep });

/** Looked for along the chain of causes, the first match wins. */
const CLUES: readonly Clue[] = [
  clueOf(
    'credentials_missing',
    'CredentialsProviderError TokenProviderError',
    () => 'no AWS credentials were found',
    () =>
      'Log in (aws sso login), or export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; or start the local cloud: npx edow up',
  ),
  clueOf(
    'credentials_refused',
    'UnrecognizedClientException InvalidClientTokenId InvalidSignatureException SignatureDoesNotMatch ExpiredToken ExpiredTokenException InvalidAccessKeyId AuthFailure',
    (where) => `${where} does not take these credentials`,
    () =>
      'Log in again (aws sso login), or check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_PROFILE.',
  ),
  clueOf(
    'access_denied',
    'AccessDenied AccessDeniedException UnauthorizedOperation AuthorizationError AuthorizationErrorException',
    (where) => `${where} does not allow this to your credentials`,
    () => 'Use the credentials of an operator of this stage, or have the action allowed.',
  ),
  clueOf(
    'untrusted_certificate',
    'DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_VERIFY_LEAF_SIGNATURE UNABLE_TO_GET_ISSUER_CERT_LOCALLY CERT_HAS_EXPIRED',
    (where) => `the certificate of ${where} is not trusted here`,
    () => 'Name its certificate: export NODE_EXTRA_CA_CERTS=/path/to/certificate.pem',
  ),
  clueOf(
    'unreachable',
    'ECONNREFUSED ECONNRESET ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH ETIMEDOUT EPIPE EPROTO TimeoutError UND_ERR_SOCKET UND_ERR_CONNECT_TIMEOUT',
    (where) => `${where} does not answer`,
    (isLocal) =>
      isLocal
        ? 'It was stopped or killed, and keeps nothing. Start it again: npx edow up'
        : 'Check the address, the network and the region, then run this again.',
  ),
  clueOf(
    'throttled',
    'ThrottlingException TooManyRequestsException RequestLimitExceeded Throttling SlowDown ProvisionedThroughputExceededException',
    (where) => `${where} is throttling`,
    () => 'Wait a moment, then run this again.',
  ),
];

const MAX_DEPTH = 8;

/** The error and what caused it, in that order. */
function chainOf(error: unknown): Error[] {
  const chain: Error[] = [];
  const queue: unknown[] = [error];
  while (queue.length > 0 && chain.length < MAX_DEPTH) {
    const next = queue.shift();
    if (!(next instanceof Error)) continue;
    chain.push(next);
    // A connection that was tried by IPv6 and IPv4 fails with both reasons.
    queue.push(next.cause, ...(next instanceof AggregateError ? next.errors : []));
  }
  return chain;
}

const namesOf = (error: Error): string[] => {
  const { name, code } = error as Error & { code?: unknown };
  return typeof code === 'string' ? [name, code] : [name];
};

const told = (error: Error): error is Error & { code: string; nextStep: string; exitCode?: number } =>
  'nextStep' in error && typeof error.nextStep === 'string';

/**
 * @param where what was talked to, e.g. `the local cloud at https://127.0.0.1:4566`
 * @returns one line on what is wrong and one on the next step, for whatever was thrown
 */
export function explain(error: unknown, where: string, isLocal: boolean): Explained {
  const chain = chainOf(error);
  const own = chain.find(told);
  if (own) {
    const { code, message, nextStep, exitCode = EXIT.failure } = own;
    return { code, message, nextStep, exitCode };
  }
  const names = chain.flatMap(namesOf);
  const clue = CLUES.find(({ names: known }) => names.some((name) => known.has(name)));
  if (clue !== undefined) {
    const { code, message, nextStep } = clue;
    const action = code === 'access_denied' ? deniedAction(chain) : '';
    return { code, message: message(where) + action, nextStep: nextStep(isLocal), exitCode: EXIT.failure };
  }
  const first = chain[0];
  if (/region is missing/i.test(first?.message ?? ''))
    return {
      code: 'region_missing',
      message: 'no AWS region is set',
      nextStep: 'Name it: --region eu-central-1, or export AWS_REGION=eu-central-1',
      exitCode: EXIT.failure,
    };
  const reason = chain.at(-1);
  return {
    code: 'unexpected',
    message: oneLine(
      first ? [first.message, ...(reason === first ? [] : [reason?.message])].join(': ') : String(error),
    ),
    nextStep: 'This was not expected. Run it again with EDOW_DEBUG=1 to see where it comes from.',
    exitCode: EXIT.failure,
  };
}

/** AWS names the action in its text: ` (sqs:ReceiveMessage)`. */
function deniedAction(chain: readonly Error[]): string {
  const found = chain.map(({ message }) => /not authorized to perform: ([\w:-]+)/.exec(message)?.[1]);
  const action = found.find((name) => name !== undefined);
  return action === undefined ? '' : ` (${action})`;
}

const MAX_LINE = 600;
const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, MAX_LINE);
