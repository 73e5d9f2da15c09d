/** EC2's events reach only the default bus of their own region: this sends those about the end of machines to the home region. */

import { Aws, Validations } from 'aws-cdk-lib';
import * as events from 'aws-cdk-lib/aws-events';
import * as targets from 'aws-cdk-lib/aws-events-targets';
import * as iam from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { Settings } from '../config';
import { arn } from '../names';
import { DeadLetterQueue } from './dead-letter-queue';
import { MACHINE_ENDS } from './transfer-events';

export class EventForwarding extends Construct {
  public constructor(scope: Construct, id: string, settings: Settings) {
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
      description: 'Puts EC2 events of this region on the bus in the home region',
    });
    const { queue } = new DeadLetterQueue(this, 'DeadLetters', `${ruleName}-dead-letters`);
    Validations.of(queue).acknowledge({
      id: 'AwsSolutions-SQS3',
      reason: 'It is itself the dead-letter queue of a rule',
    });
    const rule = new events.Rule(this, 'Rule', {
      ruleName,
      eventPattern: { source: ['aws.ec2'], ...MACHINE_ENDS },
    });
    rule.addTarget(new targets.EventBus(bus, { role, deadLetterQueue: queue }));
  }
}
