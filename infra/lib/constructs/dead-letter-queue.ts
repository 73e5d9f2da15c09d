/** A queue for events that reached nobody, kept as long as SQS keeps anything. */

import { Duration } from 'aws-cdk-lib';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';

export class DeadLetterQueue extends Construct {
  public readonly queue: sqs.Queue;

  public constructor(scope: Construct, id: string, queueName: string) {
    super(scope, id);
    this.queue = new sqs.Queue(this, 'Queue', {
      queueName,
      encryption: sqs.QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
    });
  }
}
