/** News of transfers for people and programs: what the bus carries of them, on a topic. */

import { Duration, Validations } from 'aws-cdk-lib';
import * as events from 'aws-cdk-lib/aws-events';
import * as targets from 'aws-cdk-lib/aws-events-targets';
import * as sns from 'aws-cdk-lib/aws-sns';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { Settings } from '../config';
import { notificationTopicName } from '../names';
import { DeadLetterQueue } from './dead-letter-queue';
import { SubscribedTopic } from './subscribed-topic';
import { CONTROL } from './transfer-events';

/** Detail types that are news; `Transfer Finished` says in its status how. */
export const NEWS = ['Transfer Started', 'Approval Required', 'Transfer Degraded', 'Transfer Finished', 'Waves Ended', 'Request Refused'];

export class Notifications extends Construct {
  public readonly topic: sns.Topic;
  public readonly deadLetterQueue: sqs.Queue;

  public constructor(scope: Construct, id: string, settings: Settings, bus: events.IEventBus) {
    super(scope, id);
    this.topic = new SubscribedTopic(this, 'Letters', {
      topicName: notificationTopicName(settings),
      displayName: 'CPT transfers',
      mail: settings.notificationMail,
    }).topic;
    const ruleName = `${settings.name}-notify`;
    const rule = new events.Rule(this, 'Rule', {
      ruleName,
      eventBus: bus,
      eventPattern: { source: [CONTROL], detailType: NEWS },
    });
    this.deadLetterQueue = new DeadLetterQueue(this, 'DeadLetters', `${ruleName}-dead-letters`).queue;
    Validations.of(this.deadLetterQueue).acknowledge({
      id: 'AwsSolutions-SQS3',
      reason: 'It is itself the dead-letter queue of a rule',
    });
    rule.addTarget(
      new targets.SnsTopic(this.topic, {
        // The detail alone: it has its own type, and a subscription can filter by all of it.
        message: events.RuleTargetInput.fromEventPath('$.detail'),
        deadLetterQueue: this.deadLetterQueue,
        retryAttempts: 10,
        maxEventAge: Duration.hours(1),
      }),
    );
  }
}
