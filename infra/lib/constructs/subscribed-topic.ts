/** A topic that people subscribe to; whoever shall get its letters by mail is in the settings. */

import * as sns from 'aws-cdk-lib/aws-sns';
import * as subscriptions from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';

export interface SubscribedTopicProps {
  readonly topicName: string;
  /** What a letter says it comes from. */
  readonly displayName: string;
  /** Addresses; each confirms its subscription once. */
  readonly mail: readonly string[];
}

export class SubscribedTopic extends Construct {
  public readonly topic: sns.Topic;

  public constructor(scope: Construct, id: string, { topicName, displayName, mail }: SubscribedTopicProps) {
    super(scope, id);
    this.topic = new sns.Topic(this, 'Topic', { topicName, displayName, enforceSSL: true });
    for (const address of mail) this.topic.addSubscription(new subscriptions.EmailSubscription(address));
  }
}
