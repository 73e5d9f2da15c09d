/** Where the alarms of one region ring: CloudWatch writes to topics of its own region only. */

import { Aws } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as sns from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { Settings } from '../config';
import { alarmTopicName, arn } from '../names';
import { SubscribedTopic } from './subscribed-topic';

export class AlarmTopic extends Construct {
  public readonly topic: sns.Topic;

  public constructor(scope: Construct, id: string, settings: Settings, region: string) {
    super(scope, id);
    this.topic = new SubscribedTopic(this, 'Letters', {
      topicName: alarmTopicName(settings),
      displayName: 'CPT alarms',
      mail: settings.alarmMail,
    }).topic;
    // A topic with a policy of its own has lost the one by which every service of the account may publish.
    this.topic.addToResourcePolicy(
      new iam.PolicyStatement({
        principals: [new iam.ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [this.topic.topicArn],
        conditions: {
          StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID },
          ArnLike: { 'aws:SourceArn': arn('cloudwatch', region, `alarm:${settings.name}-*`) },
        },
      }),
    );
  }
}
