/** What rules listen to, and how every rule reaches its function. */

import { Aws } from 'aws-cdk-lib';
import * as events from 'aws-cdk-lib/aws-events';
import * as targets from 'aws-cdk-lib/aws-events-targets';
import * as iam from 'aws-cdk-lib/aws-iam';
import { Settings } from '../config';
import { arn } from '../names';
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

/** Scheduler for schedules of one group alone: whoever may pass a role that trusts it hides none elsewhere. */
export function schedulesOf(settings: Settings, group: string): iam.ServicePrincipal {
  const sources = {
    'aws:SourceAccount': Aws.ACCOUNT_ID,
    'aws:SourceArn': arn('scheduler', settings.homeRegion, `schedule-group/${group}`),
  };
  return new iam.ServicePrincipal('scheduler.amazonaws.com', { conditions: { StringEquals: sources } });
}

/** A filter of EventBridge's patterns; a wildcard takes prefix and suffix together, which a list of filters would not. */
export type KeyFilter = { readonly prefix: string } | { readonly wildcard: string };

/** Keys with this beginning and this end. */
export function keysWith(prefix: string, suffix: string | undefined): KeyFilter {
  return suffix === undefined ? { prefix } : { wildcard: `${prefix}*${suffix}` };
}

/** S3's events of objects that are written into `bucket`, with a key that one of the filters takes. */
export function objectWritten(bucket: string, ...keys: readonly KeyFilter[]): events.EventPattern {
  return {
    source: ['aws.s3'],
    detailType: ['Object Created'],
    detail: { bucket: { name: [bucket] }, object: { key: [...keys] } },
  };
}
