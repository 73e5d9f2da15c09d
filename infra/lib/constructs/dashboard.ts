/** One page of CloudWatch: transfers, money, relays and chunks above, the control plane's own health below. */

import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import { Settings } from '../config';
import { MetricName, measured } from '../metrics';

const MINUTE = Duration.minutes(1);
const SIZE = { width: 8, height: 6 };

export class Dashboard extends Construct {
  public constructor(
    scope: Construct,
    id: string,
    private readonly settings: Settings,
    stateMachine: sfn.StateMachine,
    functions: readonly lambda.Function[],
    deadLetterQueues: readonly sqs.Queue[],
    machineEnds: sqs.Queue,
    page: lambda.Function,
  ) {
    super(scope, id);
    const dashboard = new cloudwatch.Dashboard(this, 'Dashboard', {
      dashboardName: settings.name,
      defaultInterval: Duration.hours(3),
      periodOverride: cloudwatch.PeriodOverride.INHERIT,
    });
    dashboard.addWidgets(
      new cloudwatch.CustomWidget({
        title: 'Live',
        functionArn: page.functionArn,
        width: 24,
        height: 9,
        updateOnRefresh: true,
        updateOnResize: false,
        updateOnTimeRangeChange: false,
      }),
    );
    dashboard.addWidgets(
      this.graph('Transfers', ['TransfersStarted', 'TransfersSucceeded', 'TransfersFailed']),
      this.lines(
        'Running',
        (['TransfersActive', 'EndsUnwatched'] as const).map((name) => measured(settings, name, MINUTE, 'Maximum')),
      ),
      this.lines('MB/s, all transfers', [this.rate()]),
    );
    dashboard.addWidgets(
      this.graph('Dollars', ['DollarsSpent']),
      this.graph('Relays', ['RelaysLaunched', 'RelaysLost', 'RelaysStray', 'PoolNodesLost', 'PoolLaunchesRefused']),
      this.graph('Chunks', ['ChunksRetried', 'ChunksGivenUp']),
    );
    dashboard.addWidgets(
      this.lines('MB/s of a whole transfer', [
        measured(settings, 'TransferRate', MINUTE, 'Average'),
        measured(settings, 'TransferRate', MINUTE, 'Maximum'),
      ]),
      this.lines('Seconds of a whole transfer', [measured(settings, 'TransferSeconds', MINUTE, 'Average')]),
      this.lines('Executions', [
        stateMachine.metricSucceeded(),
        stateMachine.metricFailed(),
        stateMachine.metricTimedOut(),
        stateMachine.metricAborted(),
      ]),
    );
    dashboard.addWidgets(
      this.lines(
        'Failed calls, by function',
        functions.map((one) => one.metricErrors()),
      ),
      this.lines(
        'Slowest call, by function',
        functions.map((one) => one.metricDuration({ statistic: 'Maximum' })),
      ),
      this.lines(
        'Events that nobody took',
        deadLetterQueues.map((queue) => queue.metricApproximateNumberOfMessagesVisible({ statistic: 'Maximum' })),
      ),
    );
    dashboard.addWidgets(
      this.graph('Defects and throttles', ['Defects', 'Throttles']),
      this.lines('Seconds that machines’ ends wait to be told', [
        machineEnds.metricApproximateAgeOfOldestMessage({ statistic: 'Maximum' }),
      ]),
    );
  }

  private graph(title: string, metrics: readonly MetricName[]): cloudwatch.GraphWidget {
    return this.lines(
      title,
      metrics.map((name) => measured(this.settings, name)),
    );
  }

  private lines(title: string, left: cloudwatch.IMetric[]): cloudwatch.GraphWidget {
    return new cloudwatch.GraphWidget({ title, left, leftYAxis: { min: 0 }, ...SIZE });
  }

  private rate(): cloudwatch.IMetric {
    return new cloudwatch.MathExpression({
      expression: 'sent / PERIOD(sent) / 1000000',
      usingMetrics: { sent: measured(this.settings, 'BytesSent', MINUTE) },
      label: 'MB/s',
      period: MINUTE,
    });
  }
}
