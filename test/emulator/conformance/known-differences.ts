/**
 * Where a cloud is known to be otherwise than AWS: what follows from it, and what we do about it. A difference that is
 * not listed here fails the suite, and so does one that is listed and gone.
 */

export type CloudName = 'aws' | 'ministack' | 'localstack';

export interface KnownDifference {
  /** Id of the check. */
  readonly check: string;
  readonly kind: 'differs' | 'missing';
  /** What would go wrong, or cannot be shown, on this cloud. */
  readonly consequence: string;
  /** Why the product holds all the same. */
  readonly answer: string;
}

const ministack: readonly KnownDifference[] = [
  {
    check: 'sqs.move-task',
    kind: 'missing',
    consequence: "AWS's own redrive cannot be started here",
    answer:
      'our replay receives, sends and deletes; a test revives a task by a copy shaped like a moved message',
  },
  {
    check: 'dynamodb.deployed-ttl',
    kind: 'missing',
    consequence: 'items of closed runs stay',
    answer: 'expiry is checked in conditions, never by absence; a local cloud is emptied, not aged',
  },
  {
    check: 'dynamodb.deployed-backups',
    kind: 'missing',
    consequence: 'no restore to a point in time',
    answer: 'infra tests read the setting from the template',
  },
  {
    check: 'deployed.topic-encryption',
    kind: 'missing',
    consequence: 'topics are not encrypted at rest',
    answer: 'infra tests read the key from the template',
  },
  {
    check: 'deployed.bucket-lifecycle',
    kind: 'missing',
    consequence: 'payloads stay',
    answer: 'infra tests read the rule from the template',
  },
  {
    check: 'sns.fair-group',
    kind: 'differs',
    consequence: 'messages of a batch reach their queue without their group: no tenant is put before another',
    answer: 'fairness is never relied on for correctness; unit tests read the group from the request',
  },
  {
    check: 'states.token-of-a-retry',
    kind: 'differs',
    consequence: 'an answer of an earlier entry is taken for the present one',
    answer: 'the order rule of dispatch holds with the same and with a new token',
  },
  {
    check: 'states.answer-after-stop',
    kind: 'differs',
    consequence: 'collect takes an answer for accepted that nobody waits for',
    answer: 'close sets the run by its execution, whatever was answered',
  },
  {
    check: 'states.no-output-of-a-failure',
    kind: 'differs',
    consequence: 'a failed execution shows an output',
    answer: 'the adapter reads the output of succeeded executions alone',
  },
  {
    check: 'states.name-of-a-running-execution',
    kind: 'differs',
    consequence: 'a repeated start is refused instead of answered',
    answer: 'ExecutionAlreadyExists counts as started, whatever the input',
  },
  {
    check: 'states.redrive',
    kind: 'missing',
    consequence: 'a redrive from the console cannot be tried here',
    answer: 'redrives are part of the execution number; unit tests and the simulation enter steps by them',
  },
  {
    check: 'states.lambda-token',
    kind: 'differs',
    consequence: 'a dispatch that throws leaves its state waiting until the time-out',
    answer: 'dispatch never throws: it answers the token with a named error',
  },
  {
    check: 'stream.partial-batch',
    kind: 'differs',
    consequence: 'a stream record that is reported as failed is lost',
    answer: 'failing records go to a retry queue of their own; the sweeper finds what is lost all the same',
  },
];

export const KNOWN_DIFFERENCES: Readonly<Record<CloudName, readonly KnownDifference[]>> = {
  aws: [],
  ministack,
  // Not run here: its image needs an account's token. What differs shows in the first run and is listed then.
  localstack: [],
};
