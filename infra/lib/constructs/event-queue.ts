/** A queue between rules and a function, for events of which many come at once and most concern nobody. */

import { Duration } from 'aws-cdk-lib';
import * as events from 'aws-cdk-lib/aws-events';
import * as targets from 'aws-cdk-lib/aws-events-targets';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { HOUR } from './python-function';
import { Reactor } from './functions';

// What SQS gives in one call without a batching window, which would delay each event by up to its length.
const BATCH_SIZE = 10;
// The least that Lambda takes. Two batches of half a second at once are 40 events a second.
const LEAST_CONCURRENCY = 2;
// AWS advises six: while Lambda refuses to run the function, the poller keeps its batch and tries again.
const TIMEOUTS_HIDDEN = 6;
// AWS advises five and more: a batch that Lambda refused has been received, too.
const MAX_RECEIVES = 5;

export interface EventQueueProps {
  readonly queueName: string;
  /** Reads the queue, and answers which events of a batch failed; these alone come again, then lie in its dead letters. */
  readonly reactor: Reactor;
  /** Batches at once. @default 2 */
  readonly maxConcurrency?: number;
}

export class EventQueue extends Construct {
  public readonly queue: sqs.Queue;
  private readonly deadLetterQueue: sqs.Queue;

  /** @throws Error for a function without a timeout of its own */
  public constructor(scope: Construct, id: string, { queueName, reactor, maxConcurrency = LEAST_CONCURRENCY }: EventQueueProps) {
    super(scope, id);
    const { function: handler, deadLetterQueue } = reactor;
    if (handler.timeout === undefined) throw new Error(`${queueName}: its function has no timeout`);
    this.deadLetterQueue = deadLetterQueue;
    this.queue = new sqs.Queue(this, 'Queue', {
      queueName,
      encryption: sqs.QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      visibilityTimeout: Duration.seconds(TIMEOUTS_HIDDEN * handler.timeout.toSeconds()),
      deadLetterQueue: { queue: deadLetterQueue, maxReceiveCount: MAX_RECEIVES },
    });
    // `SqsEventSource` would give the role two actions that Lambda does not need.
    handler.addEventSourceMapping('Queue', {
      eventSourceArn: this.queue.queueArn,
      batchSize: BATCH_SIZE,
      maxConcurrency,
      reportBatchItemFailures: true,
    });
  }

  /** Makes the queue the target of `rule`; `message`: what it gets in place of the event. */
  public take(rule: events.Rule, message?: events.RuleTargetInput): void {
    const { queue, deadLetterQueue } = this;
    rule.addTarget(new targets.SqsQueue(queue, { deadLetterQueue, retryAttempts: 10, maxEventAge: HOUR, message }));
  }
}
