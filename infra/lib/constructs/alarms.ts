/** What somebody has to know at once; docs/runbook.md has an article for each alarm, under its name without the prefix. */

import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import * as actions from 'aws-cdk-lib/aws-cloudwatch-actions';
import * as sns from 'aws-cdk-lib/aws-sns';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import { Settings } from '../config';
import { measured } from '../metrics';
import { AlarmTopic } from './alarm-topic';

interface Watch {
  readonly metric: cloudwatch.IMetric;
  /** What has happened once it rings, in a sentence. */
  readonly says: string;
  /** @default 1 */
  readonly threshold?: number;
  /** Periods in a row. @default 1 */
  readonly periods?: number;
  /** Rings where the metric is below the threshold, or absent. @default where it reaches it */
  readonly below?: boolean;
}

export class Alarms extends Construct {
  public readonly topic: sns.Topic;

  public constructor(
    scope: Construct,
    id: string,
    private readonly settings: Settings,
    stateMachine: sfn.StateMachine,
  ) {
    super(scope, id);
    this.topic = new AlarmTopic(this, 'Topic', settings, settings.homeRegion).topic;
    this.alarm('transfers-failing', {
      metric: stateMachine.metricFailed(),
      says: 'An execution failed',
    });
    this.alarm('reconciler-silent', {
      // It counts them each time that it runs, be they none.
      metric: measured(settings, 'TransfersActive', Duration.minutes(1), 'SampleCount'),
      below: true,
      periods: 5,
      says: 'For five minutes nobody has looked after running transfers: no heartbeats, no budget, no sweep',
    });
    this.alarm('defects', {
      metric: measured(settings, 'Defects'),
      says: 'A Lambda failed for a reason that the code does not know',
    });
    this.alarm('throttled', {
      metric: measured(settings, 'Throttles', Duration.minutes(15)),
      threshold: 20,
      says: 'AWS keeps asking to be called less often',
    });
    this.alarm('chunks-given-up', {
      metric: measured(settings, 'ChunksGivenUp'),
      says: 'A transfer will fail: a chunk did not arrive in any of its attempts',
    });
    this.alarm('relays-lost', {
      metric: measured(settings, 'RelaysLost', Duration.minutes(15)),
      threshold: 5,
      says: 'Relays end, or do not come up, one after another',
    });
    this.alarm('relays-stray', {
      metric: measured(settings, 'RelaysStray'),
      // One launched at the last moment is terminated within a minute or two; what stays costs money.
      periods: 3,
      says: 'Relays of no transfer are found again and again, and cost money',
    });
    this.alarm('spending', {
      metric: measured(settings, 'DollarsSpent', Duration.days(1)),
      threshold: settings.alarmUsdPerDay,
      says: `Transfers have spent ${settings.alarmUsdPerDay} dollars in a day`,
    });
  }

  /** Rings by letter, with the name of its article in the runbook. */
  private alarm(article: string, { metric, says, threshold = 1, periods = 1, below = false }: Watch): void {
    const alarm = new cloudwatch.Alarm(this, article, {
      alarmName: `${this.settings.name}-${article}`,
      alarmDescription: `${says}. What to do: docs/runbook.md#${article}`,
      metric,
      threshold,
      evaluationPeriods: periods,
      comparisonOperator: below
        ? cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
        : cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: below ? cloudwatch.TreatMissingData.BREACHING : cloudwatch.TreatMissingData.NOT_BREACHING,
    });
    alarm.addAlarmAction(new actions.SnsAction(this.topic));
  }
}
