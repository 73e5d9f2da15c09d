/** Where the letters go that ask for approval; whoever shall get them by mail is in the settings. */

import * as sns from 'aws-cdk-lib/aws-sns';
import * as subscriptions from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { Settings } from '../config';
import { approvalTopicName } from '../names';

export class ApprovalTopic extends Construct {
  public readonly topic: sns.Topic;

  public constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id);
    this.topic = new sns.Topic(this, 'Topic', {
      topicName: approvalTopicName(settings),
      displayName: 'CPT approvals',
      enforceSSL: true,
    });
    for (const address of settings.approvalMail) {
      this.topic.addSubscription(new subscriptions.EmailSubscription(address));
    }
  }
}
