import { App, Stack, aws_sqs as sqs, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, it } from 'vitest';
import { buildStage } from './edow-app.ts';

describe('cdk-nag, AwsSolutions', () => {
  it('finds a fault where there is one', () => {
    const app = new App();
    new sqs.Queue(new Stack(app, 'Bad'), 'Queue');
    const { success, violations } = new AwsSolutionsChecks().validateScope(app);
    expect(success).toBe(false);
    expect(violations.map(({ ruleName }) => ruleName)).toContain('AwsSolutions-SQS4');
  });

  it.each(['dev', 'prod'] as const)('has nothing to say about %s', (stage) => {
    const { app } = buildStage(stage);
    app.synth();
    const { violations } = new AwsSolutionsChecks().validateScope(app);
    expect(
      violations.map(({ ruleName, violatingResources }) => [
        ruleName,
        violatingResources.map((resource) => (resource as { constructPath?: string }).constructPath),
      ]),
    ).toEqual([]);
  });

  it('each acknowledgement hides something, and says why at length', () => {
    const { app } = buildStage('dev');
    app.synth();
    const acknowledged = app.node
      .findAll()
      .flatMap(({ node }) =>
        node.metadata
          .filter(({ type }) => type === Validations.ACKNOWLEDGED_RULES_METADATA_KEY)
          .flatMap(({ data }) => Object.entries(data as Record<string, string>)),
      );
    expect(acknowledged).toHaveLength(9);
    for (const [id, reason] of acknowledged) {
      expect(id).toMatch(/AwsSolutions-(S1|SQS3|IAM5\[.+\])$/);
      expect(reason.length, id).toBeGreaterThan(80);
    }
  });
});
