/** What `cpt.starts` names: rules for objects that are written, schedules; and the room for schedules that people add. */

import { Validations } from 'aws-cdk-lib';
import * as events from 'aws-cdk-lib/aws-events';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';
import { Access, allow, INLINE_POLICY, policyOf } from '../access/access';
import { bucketsWithStarts, ObjectStart, ScheduleStart, Settings } from '../config';
import { objectStartRuleName, Reaction, scheduleName, startsGroupName, startsRoleName } from '../names';
import { CollectedStarts } from './collected-starts';
import { keysWith, objectWritten, reactTo, schedulesOf } from './reaction';
import { Reactor } from './functions';

const DEPLOYED_GROUP = 'default';
// After an hour a run is too late; who wants it still starts it by hand.
const RETRY = { maximumEventAgeInSeconds: 3_600, maximumRetryAttempts: 10 };

export class TransferStarts extends Construct {
  public constructor(
    scope: Construct,
    id: string,
    private readonly settings: Settings,
    private readonly reactions: Readonly<Record<Reaction, Reactor>>,
    bus: events.IEventBus,
  ) {
    super(scope, id);
    const { objects, schedules } = settings.starts;
    const collected = objects.filter(({ windowSeconds }) => windowSeconds !== undefined);
    for (const start of objects.filter((one) => !collected.includes(one))) this.startFromObjects(start);
    const buckets = bucketsWithStarts(settings);
    if (collected.length + buckets.length > 0) {
      new CollectedStarts(this, 'Collected', { settings, reactions, bus, starts: collected, buckets });
    } else {
      Validations.of(reactions.collect_object.deadLetterQueue).acknowledge({
        id: 'AwsSolutions-SQS3',
        reason: 'It is the dead-letter queue of the queue that the first start that collects objects makes',
      });
    }
    if (schedules.length > 0) {
      const role = this.schedulerRole();
      for (const start of schedules) this.startFromSchedule(start, role);
    }
    this.takeAddedSchedules();
  }

  /** Whoever adds a schedule passes this role, of which no schedule outside of the group gets a session. With the group all of them go. */
  private takeAddedSchedules(): void {
    const { settings } = this;
    const name = startsGroupName(settings);
    new scheduler.CfnScheduleGroup(this, 'Added', { name });
    new iam.Role(this, 'AddedRole', {
      roleName: startsRoleName(settings),
      description: 'What schedules that people add may do',
      assumedBy: schedulesOf(settings, name),
      inlinePolicies: { [INLINE_POLICY]: policyOf(settings, this.scheduled) },
    });
  }

  private startFromObjects({ name, bucket, prefix, suffix, request }: ObjectStart): void {
    const rule = new events.Rule(this, `object-${name}`, {
      ruleName: objectStartRuleName(this.settings, name),
      eventPattern: objectWritten(bucket, keysWith(prefix, suffix)),
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
      groupName: DEPLOYED_GROUP,
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
    const role = new iam.Role(this, 'SchedulerRole', {
      assumedBy: schedulesOf(this.settings, DEPLOYED_GROUP),
      description: 'What schedules of transfers may do',
    });
    allow(role, this.scheduled);
    return role;
  }

  /** What a schedule does: it hands its request to the one function that judges and starts it. */
  private get scheduled(): Access[] {
    const { function: handler, deadLetterQueue } = this.reactions.start_from_schedule;
    return [
      { actions: ['lambda:InvokeFunction'], resources: [handler.functionArn] },
      { actions: ['sqs:SendMessage'], resources: [deadLetterQueue.queueArn] },
    ];
  }
}
