import { aws_cloudwatch_actions as actions, aws_cloudwatch as cloudwatch, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { Alarms } from '#constructs/alarms.ts';
import type { StageSettings } from './stages.ts';

/** What only AWS hosts: one alarm over all, and a page that shows them. */
export class ObservabilityStack extends Stack {
  constructor(scope: Construct, id: string, stage: StageSettings, alarms: Alarms) {
    super(scope, id, { synthesizer: stage.synthesizer() });
    const any = new cloudwatch.CompositeAlarm(this, 'AnyAlarm', {
      alarmRule: cloudwatch.AlarmRule.anyOf(...alarms.all),
      alarmDescription: 'Some alarm of this deployment is on. What to do: docs/runbook.md',
    });
    any.addAlarmAction(new actions.SnsAction(alarms.topic));
    new cloudwatch.Dashboard(this, 'Dashboard', {
      widgets: [
        [
          new cloudwatch.AlarmStatusWidget({
            title: 'Alarms',
            width: 24,
            height: 8,
            alarms: [...alarms.all],
          }),
        ],
      ],
    });
  }
}
