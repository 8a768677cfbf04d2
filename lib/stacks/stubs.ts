import { aws_dynamodb as dynamodb, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { StageSettings } from './stages.ts';

/** The stub downstreams' own books: the calls they got, the effects they made and the faults planned for them. */
export class StubsStack extends Stack {
  readonly stub: dynamodb.Table;

  constructor(scope: Construct, id: string, stage: StageSettings) {
    super(scope, id, { synthesizer: stage.synthesizer() });
    this.stub = new dynamodb.Table(this, 'Stub', {
      partitionKey: { name: 'PK', type: dynamodb.AttributeType.STRING },
      sortKey: { name: 'SK', type: dynamodb.AttributeType.STRING },
      billingMode: dynamodb.BillingMode.PAY_PER_REQUEST,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      removalPolicy: stage.removalPolicy,
    });
  }
}
