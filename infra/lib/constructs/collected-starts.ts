/** Starts that collect objects: their rules, the queue in between, and what schedules of windows are made with. */

import * as events from 'aws-cdk-lib/aws-events';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';
import { allow } from '../access/access';
import { BucketWithStarts, ObjectStart, Settings } from '../config';
import { addedStartsRuleName, arrivalsQueueName, objectStartRuleName, Reaction, windowsGroupName, windowsRoleName } from '../names';
import { EventQueue } from './event-queue';
import { Reactor } from './functions';
import { keysWith, objectWritten, schedulesOf } from './reaction';

// Ten batches of ten, each of which takes a fifth of a second: a burst of 10^5 objects is collected in some minutes, and an
// account with 1 000 functions at once does not notice.
const BATCHES_AT_ONCE = 10;

export interface CollectedStartsProps {
  readonly settings: Settings;
  readonly reactions: Readonly<Record<Reaction, Reactor>>;
  /** Where events of other regions arrive. */
  readonly bus: events.IEventBus;
  readonly starts: readonly ObjectStart[];
  /** Buckets for which people may add starts. */
  readonly buckets: readonly BucketWithStarts[];
}

export class CollectedStarts extends Construct {
  public constructor(scope: Construct, id: string, { settings, reactions, bus, starts, buckets }: CollectedStartsProps) {
    super(scope, id);
    // Events of other regions arrive on the deployment's bus.
    const busOf = (region: string): { eventBus?: events.IEventBus } => (region === settings.homeRegion ? {} : { eventBus: bus });
    const queue = new EventQueue(this, 'Arrivals', {
      queueName: arrivalsQueueName(settings),
      reactor: reactions.collect_object,
      maxConcurrency: BATCHES_AT_ONCE,
    });
    for (const { name, bucket, prefix, suffix, region, request, windowSeconds } of starts) {
      const rule = new events.Rule(this, `object-${name}`, {
        ruleName: objectStartRuleName(settings, name),
        ...busOf(region),
        eventPattern: { ...objectWritten(bucket, keysWith(prefix, suffix)), region: [region] },
      });
      queue.take(
        rule,
        events.RuleTargetInput.fromObject({
          'detail-type': events.EventField.detailType,
          detail: {
            bucket: events.EventField.fromPath('$.detail.bucket'),
            object: events.EventField.fromPath('$.detail.object'),
            start: { name, windowSeconds, request },
          },
        }),
      );
    }
    // Which start takes an object, if any, the function looks up: people add and remove them at any time.
    for (const { bucket, region, prefixes } of buckets) {
      const rule = new events.Rule(this, `added-${bucket}`, {
        ruleName: addedStartsRuleName(settings, bucket),
        description: `Objects of ${bucket}, for starts that people add`,
        ...busOf(region),
        eventPattern: { ...objectWritten(bucket, ...prefixes.map((prefix) => keysWith(prefix, undefined))), region: [region] },
      });
      const detail = { bucket: events.EventField.fromPath('$.detail.bucket'), object: events.EventField.fromPath('$.detail.object') };
      queue.take(rule, events.RuleTargetInput.fromObject({ 'detail-type': events.EventField.detailType, detail }));
    }
    this.scheduleWindows(settings, reactions.close_window);
  }

  /** Functions make the schedules, in this group and with this role; with the stack all of them go. */
  private scheduleWindows(settings: Settings, { function: handler, deadLetterQueue }: Reactor): void {
    const group = windowsGroupName(settings);
    new scheduler.CfnScheduleGroup(this, 'Windows', { name: group });
    const role = new iam.Role(this, 'WindowsRole', {
      roleName: windowsRoleName(settings),
      assumedBy: schedulesOf(settings, group),
      description: 'What schedules of windows may do',
    });
    allow(role, [
      { actions: ['lambda:InvokeFunction'], resources: [handler.functionArn] },
      { actions: ['sqs:SendMessage'], resources: [deadLetterQueue.queueArn] },
    ]);
  }
}
