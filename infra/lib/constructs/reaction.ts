/** What rules listen to, and how every rule reaches its function. */

import { Duration } from 'aws-cdk-lib';
import * as events from 'aws-cdk-lib/aws-events';
import * as targets from 'aws-cdk-lib/aws-events-targets';
import { Reactor } from './stage-functions';

/** Makes the reactor's function the target of `rule`; what cannot be handed over within an hour goes to its queue. */
export function reactTo(rule: events.Rule, reactor: Reactor, event?: events.RuleTargetInput): void {
  const { function: handler, deadLetterQueue } = reactor;
  rule.addTarget(
    new targets.LambdaFunction(handler, { deadLetterQueue, retryAttempts: 10, maxEventAge: Duration.hours(1), event }),
  );
}

/** S3's events of objects that are written into `bucket`; `key` is a filter of EventBridge's patterns. */
export function objectWritten(
  bucket: string,
  key: { readonly prefix: string } | { readonly wildcard: string },
): events.EventPattern {
  return {
    source: ['aws.s3'],
    detailType: ['Object Created'],
    detail: { bucket: { name: [bucket] }, object: { key: [key] } },
  };
}
