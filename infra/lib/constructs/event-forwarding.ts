/** Events of AWS reach only the default bus of their own region: this sends to the home region what it must hear of. */

import { Aws, Validations } from 'aws-cdk-lib';
import * as events from 'aws-cdk-lib/aws-events';
import * as targets from 'aws-cdk-lib/aws-events-targets';
import * as iam from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { bucketsWithStarts, Settings } from '../config';
import { addedForwardingRuleName, arn, objectForwardingRuleName } from '../names';
import { DeadLetterQueue } from './dead-letter-queue';
import { keysWith, objectWritten } from './reaction';
import { MACHINE_ENDS } from './transfer-events';

export class EventForwarding extends Construct {
  public constructor(scope: Construct, id: string, settings: Settings, region: string) {
    super(scope, id);
    const ruleName = `${settings.name}-forward-ec2`;
    const bus = events.EventBus.fromEventBusArn(
      this,
      'HomeBus',
      arn('events', settings.homeRegion, `event-bus/${settings.name}`),
    );
    const role = new iam.Role(this, 'Role', {
      assumedBy: new iam.ServicePrincipal('events.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID } },
      }),
      description: 'Puts events of this region on the bus in the home region',
    });
    const { queue } = new DeadLetterQueue(this, 'DeadLetters', `${ruleName}-dead-letters`);
    Validations.of(queue).acknowledge({
      id: 'AwsSolutions-SQS3',
      reason: 'It is itself the dead-letter queue of a rule',
    });
    const forward = (name: string, rule: events.RuleProps): void => {
      new events.Rule(this, name, rule).addTarget(new targets.EventBus(bus, { role, deadLetterQueue: queue }));
    };
    forward('Rule', { ruleName, eventPattern: { source: ['aws.ec2'], ...MACHINE_ENDS } });
    // The home region's own objects need no way.
    if (region === settings.homeRegion) return;
    const away = settings.starts.objects.filter((start) => start.region === region);
    for (const { name, bucket, prefix, suffix } of away) {
      forward(`objects-${name}`, {
        ruleName: objectForwardingRuleName(settings, name),
        eventPattern: objectWritten(bucket, keysWith(prefix, suffix)),
      });
    }
    for (const { bucket, prefixes } of bucketsWithStarts(settings).filter((one) => one.region === region)) {
      forward(`added-${bucket}`, {
        ruleName: addedForwardingRuleName(settings, bucket),
        description: `Objects of ${bucket}, for starts that people add`,
        eventPattern: objectWritten(bucket, ...prefixes.map((prefix) => keysWith(prefix, undefined))),
      });
    }
  }
}
