/** What somebody has to know at once; docs/runbook.md has an article for each alarm, under its name without the prefix. */

import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import * as actions from 'aws-cdk-lib/aws-cloudwatch-actions';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as sns from 'aws-cdk-lib/aws-sns';
import * as sqs from 'aws-cdk-lib/aws-sqs';
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
  /** Rings where the metric is absent, too. @default false, unless `below` */
  readonly absent?: boolean;
}

export interface Watched {
  readonly stateMachine: sfn.StateMachine;
  readonly reactions: readonly lambda.Function[];
  readonly tables: readonly dynamodb.Table[];
  readonly machineEnds: sqs.Queue;
}

/** An alarm looks at ten metrics at most. */
const MOST_METRICS = 10;

/** @throws Error for more metrics than an alarm may look at */
function over<T>(statistic: 'SUM' | 'MAX', all: readonly T[], metric: (one: T) => cloudwatch.IMetric): cloudwatch.MathExpression {
  if (all.length > MOST_METRICS) throw new Error(`an alarm over ${all.length} metrics; CloudWatch takes ${MOST_METRICS}`);
  const usingMetrics = Object.fromEntries(all.map((one, index) => [`m${index}`, metric(one)]));
  return new cloudwatch.MathExpression({ expression: `${statistic}(METRICS())`, usingMetrics, period: Duration.minutes(5) });
}

export class Alarms extends Construct {
  public readonly topic: sns.Topic;

  public constructor(
    scope: Construct,
    id: string,
    private readonly settings: Settings,
    watched: Watched,
  ) {
    super(scope, id);
    this.topic = new AlarmTopic(this, 'Topic', settings, settings.homeRegion).topic;
    this.executions(watched.stateMachine);
    this.services(watched);
    this.alarm('ends-unwatched', {
      // Written each minute, at the end of all looks. A transfer fails after five minutes without a heartbeat.
      metric: measured(settings, 'EndsUnwatched', Duration.minutes(1), 'Maximum'),
      absent: true,
      periods: 2,
      says: 'For two minutes running transfers got no heartbeats; they fail after five',
    });
    this.alarm('reconciler-silent', {
      // It counts them each time that it runs, be they none.
      metric: measured(settings, 'TransfersActive', Duration.minutes(1), 'SampleCount'),
      below: true,
      periods: 3,
      says: 'For three minutes nobody has looked after running transfers: no budget, no sweep, no lost event is found',
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

  private executions(stateMachine: sfn.StateMachine): void {
    this.alarm('transfers-failing', {
      metric: stateMachine.metricFailed(),
      says: 'An execution failed',
    });
    this.alarm('executions-timed-out', {
      metric: stateMachine.metricTimedOut(),
      says: 'An execution ended by its own limit of time, which no transfer should reach',
    });
    this.alarm('executions-aborted', {
      // One or two are people who cancel.
      metric: stateMachine.metricAborted({ period: Duration.minutes(15) }),
      threshold: 3,
      says: 'Executions are stopped one after another',
    });
    this.alarm('executions-throttled', {
      metric: stateMachine.metricThrottled(),
      says: 'Step Functions slows down the states of running transfers',
    });
  }

  /** What AWS's own services say: our functions see nothing of a call that was never made. */
  private services({ reactions, tables, machineEnds }: Watched): void {
    this.alarm('functions-throttled', {
      metric: over('SUM', reactions, (one) => one.metricThrottles()),
      says: 'Lambda refuses to run functions that react to events, for want of concurrency',
    });
    this.alarm('events-late', {
      metric: over('MAX', reactions, (one) => one.metric('AsyncEventAge', { statistic: 'Maximum' })),
      // Milliseconds; what comes each minute is dropped by then.
      threshold: 60_000,
      says: 'Events wait for a minute and more until their functions run',
    });
    this.alarm('machine-ends-late', {
      metric: machineEnds.metricApproximateAgeOfOldestMessage({ statistic: 'Maximum' }),
      // Seconds. One that failed is shown again after two minutes.
      threshold: 300,
      says: 'What EC2 said of machines that end has lain in its queue for five minutes',
    });
    const throttles = (table: dynamodb.Table): cloudwatch.IMetric[] =>
      ['ReadThrottleEvents', 'WriteThrottleEvents'].map((name) => table.metric(name, { statistic: 'Sum' }));
    this.alarm('tables-throttled', {
      metric: over('SUM', tables.flatMap(throttles), (metric) => metric),
      // Planning a million chunks is throttled by a new table, and slows down: for minutes, not for a quarter of an hour.
      threshold: 100,
      periods: 3,
      says: 'DynamoDB has thrown calls back for a quarter of an hour',
    });
  }

  /** Rings by letter, with the name of its article in the runbook. */
  private alarm(article: string, watch: Watch): void {
    const { metric, says, threshold = 1, periods = 1, below = false, absent = below } = watch;
    const alarm = new cloudwatch.Alarm(this, article, {
      alarmName: `${this.settings.name}-${article}`,
      alarmDescription: `${says}. What to do: docs/runbook.md#${article}`,
      metric,
      threshold,
      evaluationPeriods: periods,
      comparisonOperator: below
        ? cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
        : cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: absent ? cloudwatch.TreatMissingData.BREACHING : cloudwatch.TreatMissingData.NOT_BREACHING,
    });
    alarm.addAlarmAction(new actions.SnsAction(this.topic));
  }
}
