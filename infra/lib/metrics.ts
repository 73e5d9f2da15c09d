/** Our own CloudWatch metrics; `lambdas/core/metrics.py` is the other end, and says what each counts. */

import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { Settings } from './config';

export type MetricName =
  | 'EndsUnwatched'
  | 'TransfersActive'
  | 'TransfersStarted'
  | 'TransfersSucceeded'
  | 'TransfersFailed'
  | 'TransferSeconds'
  | 'TransferRate'
  | 'BytesSent'
  | 'DollarsSpent'
  | 'ChunksRetried'
  | 'ChunksGivenUp'
  | 'RelaysLaunched'
  | 'RelaysLost'
  | 'RelaysStray'
  | 'PoolNodesLost'
  | 'PoolLaunchesRefused'
  | 'Defects'
  | 'Throttles';

/**
 * A metric over all functions.
 * @param period of one value
 * @param statistic what is made of the values of a period
 */
export function measured(
  settings: Settings,
  metricName: MetricName,
  period = Duration.minutes(5),
  statistic = 'Sum',
): cloudwatch.Metric {
  return new cloudwatch.Metric({
    namespace: settings.name,
    metricName,
    dimensionsMap: { service: 'control-plane' },
    period,
    statistic,
  });
}
