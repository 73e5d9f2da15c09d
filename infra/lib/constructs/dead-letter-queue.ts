/** A queue for events that reached nobody, kept as long as SQS keeps anything, and the alarm that says so. */

import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import * as actions from 'aws-cdk-lib/aws-cloudwatch-actions';
import * as sns from 'aws-cdk-lib/aws-sns';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct, IConstruct } from 'constructs';

export class DeadLetterQueue extends Construct {
  public readonly queue: sqs.Queue;

  public constructor(
    scope: Construct,
    id: string,
    private readonly queueName: string,
  ) {
    super(scope, id);
    this.queue = new sqs.Queue(this, 'Queue', {
      queueName,
      encryption: sqs.QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
    });
  }

  /** Rings while a letter lies in the queue. */
  public ring(topic: sns.ITopic): void {
    const alarm = new cloudwatch.Alarm(this, 'Alarm', {
      alarmName: this.queueName,
      alarmDescription: 'Events reached nobody. What to do: docs/runbook.md#dead-letters',
      metric: this.queue.metricApproximateNumberOfMessagesVisible({ period: Duration.minutes(1), statistic: 'Maximum' }),
      threshold: 1,
      comparisonOperator: cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      evaluationPeriods: 1,
      // SQS sends no figures of a queue that nobody has used for six hours.
      treatMissingData: cloudwatch.TreatMissingData.NOT_BREACHING,
    });
    alarm.addAlarmAction(new actions.SnsAction(topic));
  }
}

/** Gives every dead-letter queue under `scope` its alarm. */
export function ringForDeadLetters(scope: IConstruct, topic: sns.ITopic): void {
  for (const found of scope.node.findAll()) if (found instanceof DeadLetterQueue) found.ring(topic);
}
