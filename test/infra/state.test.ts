import { describe, expect, it } from 'vitest';
import { buildStage, resources, templateOf } from './edow-app.ts';

const dev = buildStage('dev');
const prod = buildStage('prod');

/** Queue 4 days + dead letters 14 + items 90 after the close: an object must outlive its run's items and messages. */
const LEAST_PAYLOAD_DAYS = 4 + 14 + 90;

describe('tables', () => {
  it('state: keys, stream with both images, expiry, recovery, the index of open runs with keys only', () => {
    templateOf(prod.state).hasResourceProperties('AWS::DynamoDB::Table', {
      KeySchema: [
        { AttributeName: 'PK', KeyType: 'HASH' },
        { AttributeName: 'SK', KeyType: 'RANGE' },
      ],
      BillingMode: 'PAY_PER_REQUEST',
      StreamSpecification: { StreamViewType: 'NEW_AND_OLD_IMAGES' },
      TimeToLiveSpecification: { AttributeName: 'expiresAt', Enabled: true },
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      GlobalSecondaryIndexes: [
        {
          IndexName: 'open',
          KeySchema: [
            { AttributeName: 'openShard', KeyType: 'HASH' },
            { AttributeName: 'checkAt', KeyType: 'RANGE' },
          ],
          Projection: { ProjectionType: 'KEYS_ONLY' },
        },
      ],
    });
  });

  it('state: every key attribute has the type that the items use', () => {
    const [table] = Object.values(resources(prod.state, 'AWS::DynamoDB::Table')).filter(
      ({ Properties }) => Properties.StreamSpecification,
    );
    expect(table?.Properties.AttributeDefinitions).toEqual([
      { AttributeName: 'PK', AttributeType: 'S' },
      { AttributeName: 'SK', AttributeType: 'S' },
      { AttributeName: 'openShard', AttributeType: 'S' },
      { AttributeName: 'checkAt', AttributeType: 'N' },
    ]);
  });

  it('views: two indexes of runs, newest last, and the sparse one of dead letters', () => {
    templateOf(prod.state).hasResourceProperties('AWS::DynamoDB::Table', {
      GlobalSecondaryIndexes: [
        {
          IndexName: 'byWorkflow',
          KeySchema: [
            { AttributeName: 'workflowKey', KeyType: 'HASH' },
            { AttributeName: 'runId', KeyType: 'RANGE' },
          ],
          Projection: { ProjectionType: 'ALL' },
        },
        {
          IndexName: 'byStatus',
          KeySchema: [
            { AttributeName: 'statusKey', KeyType: 'HASH' },
            { AttributeName: 'runId', KeyType: 'RANGE' },
          ],
          Projection: { ProjectionType: 'ALL' },
        },
        {
          IndexName: 'dead',
          KeySchema: [
            { AttributeName: 'deadShard', KeyType: 'HASH' },
            { AttributeName: 'deadSort', KeyType: 'RANGE' },
          ],
          Projection: { ProjectionType: 'ALL' },
        },
      ],
    });
  });

  it('accounts: an entry is known by its number, nothing expires, and there is recovery', () => {
    const [table] = Object.entries(resources(prod.state, 'AWS::DynamoDB::Table'))
      .filter(([id]) => id.startsWith('Accounts'))
      .map(([, { Properties }]) => Properties);
    expect(table).toMatchObject({
      KeySchema: [
        { AttributeName: 'account', KeyType: 'HASH' },
        { AttributeName: 'entry', KeyType: 'RANGE' },
      ],
      AttributeDefinitions: [
        { AttributeName: 'account', AttributeType: 'S' },
        { AttributeName: 'entry', AttributeType: 'N' },
      ],
      BillingMode: 'PAY_PER_REQUEST',
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
    });
    expect(table).not.toHaveProperty('TimeToLiveSpecification');
    expect(table).not.toHaveProperty('StreamSpecification');
  });

  it('prod keeps and protects all tables; dev lets them go', () => {
    const inProd = Object.values(resources(prod.state, 'AWS::DynamoDB::Table'));
    const inDev = Object.values(resources(dev.state, 'AWS::DynamoDB::Table'));
    expect([inProd.length, inDev.length]).toEqual([3, 3]);
    for (const table of inProd) {
      expect(table).toMatchObject({ DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain' });
      expect(table.Properties.DeletionProtectionEnabled).toBe(true);
    }
    for (const table of inDev) {
      expect(table).toMatchObject({ DeletionPolicy: 'Delete' });
      expect(table.Properties.DeletionProtectionEnabled).toBe(false);
    }
    expect(prod.state.terminationProtection).toBe(true);
    expect(prod.pipeline.terminationProtection).toBe(true);
  });
});

describe('payload bucket', () => {
  const [bucket] = Object.values(resources(prod.state, 'AWS::S3::Bucket'));

  it('is encrypted, closed to the public, kept, and without versions', () => {
    expect(bucket).toMatchObject({ DeletionPolicy: 'Retain' });
    expect(bucket?.Properties).toMatchObject({
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }],
      },
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
    });
    expect(bucket?.Properties.VersioningConfiguration).toBeUndefined();
  });

  it('keeps payloads for longer than items, queues and dead letters together', () => {
    const [rule, ...others] = bucket?.Properties.LifecycleConfiguration.Rules ?? [];
    expect(others).toEqual([]);
    expect(rule).toMatchObject({ Prefix: 'payloads/', Status: 'Enabled' });
    expect(rule.ExpirationInDays).toBeGreaterThan(LEAST_PAYLOAD_DAYS);
  });

  it('refuses plain http', () => {
    templateOf(prod.state).hasResourceProperties('AWS::S3::BucketPolicy', {
      PolicyDocument: {
        Statement: [
          {
            Action: 's3:*',
            Condition: { Bool: { 'aws:SecureTransport': 'false' } },
            Effect: 'Deny',
            Principal: { AWS: '*' },
          },
        ],
      },
    });
  });
});

describe('stub downstream', () => {
  it('has a table in dev and none in prod', () => {
    expect(Object.keys(resources(dev.stubs ?? dev.state, 'AWS::DynamoDB::Table'))).toHaveLength(1);
    expect(prod.stubs).toBeUndefined();
    expect(prod.app.synth().stacks.map(({ stackName }) => stackName)).toEqual([
      'edow-prod-state',
      'edow-prod-pipeline',
      'edow-prod-observability',
    ]);
  });
});
