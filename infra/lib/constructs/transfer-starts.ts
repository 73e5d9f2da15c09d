/** What `cpt.starts` names: rules for objects that are written, schedules. */

import * as events from 'aws-cdk-lib/aws-events';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';
import { allow } from '../access/access';
import { ObjectStart, ScheduleStart, Settings } from '../config';
import { objectStartRuleName, Reaction, scheduleName } from '../names';
import { objectWritten, reactTo } from './reaction';
import { Reactor } from './functions';

// After an hour a run is too late; who wants it still starts it by hand.
const RETRY = { maximumEventAgeInSeconds: 3_600, maximumRetryAttempts: 10 };

export class TransferStarts extends Construct {
  public constructor(
    scope: Construct,
    id: string,
    private readonly settings: Settings,
    private readonly reactions: Readonly<Record<Reaction, Reactor>>,
  ) {
    super(scope, id);
    const { objects, schedules } = settings.starts;
    for (const start of objects) this.startFromObjects(start);
    if (schedules.length > 0) {
      const role = this.schedulerRole();
      for (const start of schedules) this.startFromSchedule(start, role);
    }
  }

  private startFromObjects({ name, bucket, prefix, request }: ObjectStart): void {
    const rule = new events.Rule(this, `object-${name}`, {
      ruleName: objectStartRuleName(this.settings, name),
      eventPattern: objectWritten(bucket, { prefix }),
    });
    reactTo(
      rule,
      this.reactions.start_from_object,
      events.RuleTargetInput.fromObject({
        'detail-type': events.EventField.detailType,
        detail: {
          bucket: events.EventField.fromPath('$.detail.bucket'),
          object: events.EventField.fromPath('$.detail.object'),
          request,
        },
      }),
    );
  }

  private startFromSchedule({ name, expression, timeZone, request }: ScheduleStart, role: iam.Role): void {
    const { function: handler, deadLetterQueue } = this.reactions.start_from_schedule;
    const detail = { schedule: name, scheduledTime: '<aws.scheduler.scheduled-time>', request };
    new scheduler.CfnSchedule(this, `schedule-${name}`, {
      name: scheduleName(this.settings, name),
      scheduleExpression: expression,
      scheduleExpressionTimezone: timeZone,
      flexibleTimeWindow: { mode: 'OFF' },
      target: {
        arn: handler.functionArn,
        roleArn: role.roleArn,
        deadLetterConfig: { arn: deadLetterQueue.queueArn },
        retryPolicy: RETRY,
        input: JSON.stringify({ 'detail-type': 'Scheduled Start', detail }),
      },
    });
  }

  private schedulerRole(): iam.Role {
    const { function: handler, deadLetterQueue } = this.reactions.start_from_schedule;
    const role = new iam.Role(this, 'SchedulerRole', {
      assumedBy: new iam.ServicePrincipal('scheduler.amazonaws.com'),
      description: 'What schedules of transfers may do',
    });
    allow(role, [
      { actions: ['lambda:InvokeFunction'], resources: [handler.functionArn] },
      { actions: ['sqs:SendMessage'], resources: [deadLetterQueue.queueArn] },
    ]);
    return role;
  }
}
