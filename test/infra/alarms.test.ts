import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RUNBOOK } from '#constructs/alarms.ts';
import { METRIC, NAMESPACE } from '#core/metric-names.ts';
import { buildStage, ROOT, resources, templateOf } from './edow-app.ts';

const { pipeline, observability } = buildStage('prod');
const alarms = Object.values(resources(pipeline, 'AWS::CloudWatch::Alarm'));
const metricNames = (namespace: string): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { Properties } of alarms)
    if (Properties.Namespace === namespace)
      counts[Properties.MetricName] = (counts[Properties.MetricName] ?? 0) + 1;
  return counts;
};

describe('alarms', () => {
  it('watch depth and age of 9 dead-letter queues and the wait in 8 queues', () => {
    expect(metricNames('AWS/SQS')).toEqual({
      ApproximateNumberOfMessagesVisible: 9,
      ApproximateAgeOfOldestMessage: 9 + 8,
    });
  });

  it('watch both stream functions, every function of ours, both machines, the three topics and held runs', () => {
    expect(metricNames('AWS/Lambda')).toEqual({ IteratorAge: 2, Errors: 13, Throttles: 13 });
    expect(metricNames('AWS/States')).toEqual({ ExecutionsFailed: 2, ExecutionsTimedOut: 2 });
    expect(metricNames('AWS/SNS')).toEqual({
      NumberOfNotificationsFailed: 3,
      'NumberOfNotificationsFilteredOut-InvalidAttributes': 3,
    });
    templateOf(pipeline).hasResourceProperties('AWS::CloudWatch::Alarm', {
      Namespace: NAMESPACE,
      MetricName: 'HeldRuns',
      Dimensions: [{ Name: 'StateTable' }],
      Threshold: 0,
      ComparisonOperator: 'GreaterThanThreshold',
    });
  });

  it('watch a metric of ours that a function counts, by the same dimension', () => {
    const own = alarms.filter(({ Properties }) => Properties.Namespace === NAMESPACE);
    expect(own.map(({ Properties }) => Properties.MetricName).sort()).toEqual([
      ...Array.from({ length: 4 }, () => METRIC.handedBack),
      METRIC.heldRuns,
    ]);
    const code = (path: string) => readFileSync(join(ROOT, path), 'utf8');
    for (const stage of ['close', 'sweep']) {
      expect(code(`lib/runtime/${stage}-entry.ts`)).toMatch(
        /count\(METRIC\.heldRuns, [^,]+, \{ \[DEPLOYMENT\]: ports\.deployment \}\)/,
      );
      expect(code(`lambdas/${stage}.ts`)).toContain('deployment: stateTable,');
    }
    // Lambda itself names the function in its environment.
    expect(code('lib/runtime/in-time.ts')).toMatch(
      /count\(METRIC\.handedBack, records, \{\s*FunctionName: process\.env\['AWS_LAMBDA_FUNCTION_NAME'\]/,
    );
    const watched = own.filter(({ Properties }) => Properties.MetricName === METRIC.handedBack);
    expect(watched.map(({ Properties }) => Properties.Dimensions)).toEqual(
      ['Dispatch', 'Collect', 'Relay', 'Close'].map((stage) => [
        { Name: 'FunctionName', Value: { Ref: expect.stringMatching(new RegExp(`^${stage}`)) } },
      ]),
    );
  });

  it('all go to one topic, and stay quiet where there is no data', () => {
    expect(alarms).toHaveLength(69);
    for (const { Properties } of alarms) {
      expect(Properties.AlarmActions).toEqual([{ Ref: expect.stringMatching(/^AlarmsTopic/) }]);
      expect(Properties.TreatMissingData).toBe('notBreaching');
    }
  });

  it('each names a section of the runbook, and each section is there', () => {
    const sections = alarms.map(
      ({ Properties }) => /docs\/runbook\.md#([a-z-]+)$/.exec(Properties.AlarmDescription)?.[1],
    );
    expect([...new Set(sections)].sort()).toEqual(Object.values(RUNBOOK).sort());
    const runbook = join(ROOT, 'docs/runbook.md');
    expect(existsSync(runbook)).toBe(true);
    const anchors = [...readFileSync(runbook, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
      (heading ?? '')
        .toLowerCase()
        .replaceAll(/[^a-z0-9 -]/g, '')
        .replaceAll(' ', '-'),
    );
    for (const section of Object.values(RUNBOOK)) expect(anchors).toContain(section);
  });
});

describe('observability stack', () => {
  it('sums all alarms up in one, on AWS only', () => {
    if (!observability) throw new Error('prod has no observability stack');
    const [any] = Object.values(resources(observability, 'AWS::CloudWatch::CompositeAlarm'));
    expect(JSON.stringify(any?.Properties.AlarmRule).match(/ALARM\(/g)).toHaveLength(alarms.length);
    templateOf(observability).resourceCountIs('AWS::CloudWatch::Dashboard', 1);
    expect(buildStage('local').observability).toBeUndefined();
  });
});
