import { Duration, aws_dynamodb as dynamodb, Stack, aws_s3 as s3, Validations } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { PAYLOAD_PREFIX } from '#constructs/access.ts';
import { BY_STATUS_INDEX, BY_WORKFLOW_INDEX, DEAD_INDEX, OPEN_INDEX, TABLE_KEY } from '#core/tables.ts';
import type { StageSettings } from './stages.ts';

const { STRING, NUMBER } = dynamodb.AttributeType;
const KEYS = {
  partitionKey: { name: TABLE_KEY.partition, type: STRING },
  sortKey: { name: TABLE_KEY.sort, type: STRING },
};

/**
 * How long a payload is kept. Its run's items live until 90 days after the close, a message 4 + 14 days; what is left
 * is the longest that a run may stay open or held: 292 days.
 */
const PAYLOAD_DAYS = 400;

/** An index whose keys are strings, with all attributes. */
const indexOf = ({ name, partition, sort }: Record<'name' | 'partition' | 'sort', string>) => ({
  indexName: name,
  partitionKey: { name: partition, type: STRING },
  sortKey: { name: sort, type: STRING },
});

/** What must survive: the books, the read models and the payloads. */
export class StateStack extends Stack {
  readonly state: dynamodb.Table;
  readonly views: dynamodb.Table;
  /** Of the payout workflow: what is booked on an account, in order. */
  readonly accounts: dynamodb.Table;
  readonly payloads: s3.Bucket;
  /** Name under which other stacks import the bucket's ARN. */
  readonly payloadsExport: string;

  constructor(scope: Construct, id: string, stage: StageSettings) {
    super(scope, id, { synthesizer: stage.synthesizer(), terminationProtection: stage.protect });
    const kept = {
      ...KEYS,
      billingMode: dynamodb.BillingMode.PAY_PER_REQUEST,
      timeToLiveAttribute: TABLE_KEY.expiry,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: stage.protect,
      removalPolicy: stage.removalPolicy,
    };
    this.state = new dynamodb.Table(this, 'State', {
      ...kept,
      stream: dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
    });
    this.state.addGlobalSecondaryIndex({
      ...indexOf(OPEN_INDEX),
      sortKey: { name: OPEN_INDEX.sort, type: NUMBER },
      projectionType: dynamodb.ProjectionType.KEYS_ONLY,
    });
    this.views = new dynamodb.Table(this, 'Views', kept);
    for (const index of [BY_WORKFLOW_INDEX, BY_STATUS_INDEX, DEAD_INDEX])
      this.views.addGlobalSecondaryIndex(indexOf(index));
    const { timeToLiveAttribute: _neverExpires, ...booked } = kept;
    this.accounts = new dynamodb.Table(this, 'Accounts', {
      ...booked,
      partitionKey: { name: 'account', type: STRING },
      sortKey: { name: 'entry', type: NUMBER },
    });
    // No versions: an object is written once under a key that holds its run, pointers carry its hash, and erasing a
    // tenant by prefix must leave nothing behind.
    this.payloads = new s3.Bucket(this, 'Payloads', {
      encryption: s3.BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      blockPublicAccess: s3.BlockPublicAccess.BLOCK_ALL,
      objectOwnership: s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
      lifecycleRules: [{ prefix: PAYLOAD_PREFIX, expiration: Duration.days(PAYLOAD_DAYS) }],
      removalPolicy: stage.removalPolicy,
      ...(stage.emptyBucket && { autoDeleteObjects: true }),
    });
    this.payloadsExport = this.resolve(this.exportValue(this.payloads.bucketArn))['Fn::ImportValue'];
    Validations.of(this.payloads).acknowledge({
      id: 'AwsSolutions-S1',
      reason:
        'Access logs would hold run and tenant names for as long again. Only the roles of our functions may read or write, on payloads/* alone (a test reads the policies); CloudTrail data events tell who did where that is asked for.',
    });
  }
}
