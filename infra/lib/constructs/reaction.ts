/** What rules listen to, and how every rule reaches its function. */

import * as events from 'aws-cdk-lib/aws-events';
import * as targets from 'aws-cdk-lib/aws-events-targets';
import { HOUR, MINUTE } from './python-function';
import { Reactor } from './functions';

/**
 * Makes the reactor's function the target of `rule`; what cannot be handed over within an hour goes to its queue, and within a
 * minute what comes again then: otherwise all that was held back would arrive at once.
 */
export function reactTo(rule: events.Rule, reactor: Reactor, event?: events.RuleTargetInput): void {
  const { function: handler, deadLetterQueue, perishable } = reactor;
  const retry = perishable ? { retryAttempts: 0, maxEventAge: MINUTE } : { retryAttempts: 10, maxEventAge: HOUR };
  rule.addTarget(new targets.LambdaFunction(handler, { deadLetterQueue, ...retry, event }));
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
